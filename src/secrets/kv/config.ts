/** The settings of a mount with KV version 2, and their endpoint. */
import { formatGoDuration, parseDurationMs } from '../../base/duration.js'
import { type BackendContext, definePath, type PathSpec, sentBy } from '../../logical/backend.js'
import { invalid } from '../../logical/errors.js'
import { any, bool, int } from '../../logical/fields.js'
import type { JsonValue } from '../../logical/json.js'
import { putJson, type ReadStorage, readRecord } from '../../logical/storage.js'
import { CONFIG_KEY } from './layout.js'

export interface KvConfig {
  /** The maximum number of versions of a key. 0 means the setting of the key, or the default of 10. */
  readonly maxVersions: number
  readonly casRequired: boolean
  /** Lifetime of versions in seconds; 0 means not set. A negative number disables the deletion for all keys. */
  readonly deleteVersionAfterSeconds: number
}

const DEFAULT_CONFIG: KvConfig = { maxVersions: 0, casRequired: false, deleteVersionAfterSeconds: 0 }

const FIELDS = {
  max_versions: int('Number of versions to keep of each key. A larger value of the key takes precedence. 0 means 10.'),
  cas_required: bool('Every write must set `cas` to the version that it replaces.'),
  delete_version_after: any('Versions are deleted after this duration. A negative value disables this for all keys.'),
}

/** Reads and writes the settings. Caches them until they change, because every write needs them. */
export class ConfigStore {
  readonly #storage: BackendContext['storage']
  #cached: KvConfig | undefined

  constructor(storage: BackendContext['storage']) {
    this.#storage = storage
  }

  current(): KvConfig {
    this.#cached ??= read(this.#storage)
    return this.#cached
  }

  change(fn: (config: KvConfig) => KvConfig): Promise<void> {
    return this.#storage.write((tx) => putJson(tx, CONFIG_KEY, fn(read(tx))))
  }

  invalidate(key: string): void {
    if (key === CONFIG_KEY) this.#cached = undefined
  }
}

const read = (storage: ReadStorage): KvConfig => readRecord<KvConfig>(storage, CONFIG_KEY) ?? DEFAULT_CONFIG

export const configPaths = (config: ConfigStore): PathSpec[] => [
  definePath('config', FIELDS, 'Read or change the settings of this mount.', {
    read: () => {
      const { maxVersions, casRequired, deleteVersionAfterSeconds } = config.current()
      return {
        data: {
          cas_required: casRequired,
          delete_version_after: formatGoDuration(deleteVersionAfterSeconds),
          max_versions: maxVersions,
        },
      }
    },
    update: async (call) => {
      const { values } = call
      const sent = sentBy(call)
      const seconds = parseSignedSeconds(values.delete_version_after)
      if (values.max_versions < 0) throw invalid("'max_versions' cannot be negative")
      await config.change((before) => ({
        maxVersions: sent('max_versions') ?? before.maxVersions,
        casRequired: sent('cas_required') ?? before.casRequired,
        deleteVersionAfterSeconds: seconds ?? before.deleteVersionAfterSeconds,
      }))
      return undefined
    },
  }),
]

/**
 * Returns a duration, which may be negative, in seconds; undefined if the request does not contain the field. Throws
 * LogicalError 400 for other values.
 */
const parseSignedSeconds = (value: JsonValue | undefined): number | undefined => {
  if (value === undefined || value === null) return undefined
  const text = typeof value === 'number' || typeof value === 'string' ? String(value) : undefined
  const ms = text === '' ? 0 : text === undefined ? undefined : parseDurationMs(text)
  if (ms === undefined) {
    throw invalid('Field validation failed: error converting input for field "delete_version_after": not a duration')
  }
  return ms / 1000
}
