/** The metadata endpoint of KV version 2: read, write, patch, list and delete the metadata of keys. */
import { formatGoDuration } from '../../base/duration.js'
import { formatTime } from '../../base/rfc3339.js'
import {
  type BackendContext,
  type Call,
  definePath,
  listed,
  type PathSpec,
  sentBy,
  shown,
} from '../../logical/backend.js'
import { invalid } from '../../logical/errors.js'
import { bool, duration, int, pairs, string } from '../../logical/fields.js'
import type { Response } from '../../logical/request.js'
import { asFolder, type Transaction } from '../../logical/storage.js'
import type { ConfigStore } from './config.js'
import { METADATA_PREFIX, metadataKey, versionKey } from './layout.js'
import { describeInList, type KeyMetadata, newMetadata } from './metadata.js'
import { putMetadata, readMetadata } from './stored-metadata.js'
import type { JsonValue } from '../../logical/json.js'

const FIELDS = {
  path: string('Location of the secret.'),
  max_versions: int('Number of versions to keep of this key; 0 means the setting of the mount.'),
  cas_required: bool('Every write of this key must set `cas` to the version that it replaces.'),
  delete_version_after: duration('Versions of this key are deleted after this duration.'),
  custom_metadata: pairs('Custom metadata of this key.'),
}

type MetadataCall = Call<typeof FIELDS>

const CAS_MANDATED = '"cas_required" set to false, but is mandated by backend config. This value will be ignored.'

export const metadataPaths = ({ storage, clock }: BackendContext, config: ConfigStore): PathSpec[] => {
  /**
   * Stores the settings in a request. `custom` returns the new custom metadata, and is called only if the request has
   * any.
   */
  const put = (
    tx: Transaction,
    call: MetadataCall,
    before: KeyMetadata,
    custom: () => KeyMetadata['customMetadata'],
  ): Response | undefined => {
    const sent = sentBy(call)
    putMetadata(tx, call.values.path, {
      ...before,
      maxVersions: sent('max_versions') ?? before.maxVersions,
      casRequired: sent('cas_required') ?? before.casRequired,
      deleteVersionAfterSeconds: sent('delete_version_after') ?? before.deleteVersionAfterSeconds,
      customMetadata: call.supplied('custom_metadata') ? custom() : before.customMetadata,
    })
    return sent('cas_required') === false && config.current().casRequired ? { warnings: [CAS_MANDATED] } : undefined
  }

  const write = (call: MetadataCall): Promise<Response | undefined> => {
    const { path } = call.values
    if (path === '') throw invalid('missing path')
    const custom = parseCustomMetadata(call.values.custom_metadata)
    checkMaxVersions(call)
    return storage.write((tx) => put(tx, call, readMetadata(tx, path) ?? newMetadata(clock.now()), () => custom))
  }

  return [
    definePath('metadata/*path', FIELDS, 'Read, change or delete the metadata of a secret, or list secrets.', {
      read: ({ values: { path } }) => shown(readMetadata(storage, path), describe),
      list: ({ values: { path } }) => listed(storage.list(METADATA_PREFIX + asFolder(path))),
      create: write,
      update: write,
      patch: (call) => {
        const { path, custom_metadata: pairs } = call.values
        checkMaxVersions(call)
        return storage.write((tx) => {
          const metadata = readMetadata(tx, path)
          if (!metadata) return { status: 404 }
          const sent = call.request.data.custom_metadata
          return put(tx, call, metadata, () => patchCustomMetadata(metadata.customMetadata, sent, pairs))
        })
      },
      delete: ({ values: { path } }) =>
        storage.write((tx) => {
          const metadata = readMetadata(tx, path)
          if (!metadata) return undefined
          for (const number of Object.keys(metadata.versions)) tx.delete(versionKey(path, Number(number)))
          tx.delete(metadataKey(path))
          return undefined
        }),
      exists: ({ values: { path } }) => path !== '' && storage.get(metadataKey(path)) !== undefined,
    }),
  ]
}

const checkMaxVersions = ({ values }: MetadataCall): void => {
  if (values.max_versions < 0) throw invalid("'max_versions' cannot be negative")
}

const describe = (metadata: KeyMetadata): Record<string, unknown> => ({
  cas_required: metadata.casRequired,
  created_time: formatTime(metadata.createdMs),
  current_version: metadata.currentVersion,
  custom_metadata: metadata.customMetadata,
  delete_version_after: formatGoDuration(metadata.deleteVersionAfterSeconds),
  max_versions: metadata.maxVersions,
  oldest_version: metadata.oldestVersion,
  updated_time: formatTime(metadata.updatedMs),
  versions: Object.fromEntries(
    Object.entries(metadata.versions).map(([number, version]) => [number, describeInList(version)]),
  ),
})

/** Limits for custom metadata. Lengths are in bytes. */
const KEYS_MAX = 64
const KEY_BYTES_MAX = 128
const VALUE_BYTES_MAX = 512
const PRINTABLE = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]*$/u

/** Returns the custom metadata, or null for an empty map. Throws LogicalError 400 that lists all violated limits. */
const parseCustomMetadata = (pairs: Readonly<Record<string, string>> | null): Record<string, string> | null => {
  const entries = Object.entries(pairs ?? {})
  const problems =
    entries.length > KEYS_MAX
      ? [`payload must contain at most ${KEYS_MAX} keys, provided ${entries.length}`]
      : entries.flatMap(([key, value]) => problemsOf(key, value))
  if (problems.length > 0) {
    const lines = problems.map((problem) => `\t* custom_metadata validation failed: ${problem}\n`).join('')
    throw invalid(`${problems.length} error${problems.length === 1 ? '' : 's'} occurred:\n${lines}\n`)
  }
  return entries.length === 0 ? null : Object.fromEntries(entries)
}

const problemsOf = (key: string, value: string): string[] => {
  const quoted = JSON.stringify(key)
  const keyBytes = Buffer.byteLength(key)
  const valueBytes = Buffer.byteLength(value)
  const problems: string[] = []
  if (keyBytes === 0 || keyBytes > KEY_BYTES_MAX) {
    problems.push(`length of key ${quoted} is ${keyBytes} but must be 0 < len(key) <= ${KEY_BYTES_MAX}`)
  }
  if (valueBytes === 0 || valueBytes > VALUE_BYTES_MAX) {
    problems.push(`length of value for key ${quoted} is ${valueBytes} but must be 0 < len(value) <= ${VALUE_BYTES_MAX}`)
  }
  if (!PRINTABLE.test(key)) problems.push(`key ${quoted} (${key}) contains unprintable characters`)
  if (!PRINTABLE.test(value)) problems.push(`value for key ${quoted} contains unprintable characters`)
  return problems
}

/**
 * Applies a merge patch: removes keys with the value null and sets all others. `sent` is the field in the body, and
 * `pairs` is the same field with all values converted to strings.
 */
const patchCustomMetadata = (
  before: Readonly<Record<string, string>> | null,
  sent: JsonValue | undefined,
  pairs: Readonly<Record<string, string>> | null,
): Record<string, string> | null => {
  if (pairs === null || sent === null || typeof sent !== 'object') return null
  const merged: Record<string, string> = Object.assign(Object.create(null), before)
  for (const [key, value] of Object.entries(pairs)) {
    if (!Array.isArray(sent) && (sent as Record<string, JsonValue>)[key] === null) delete merged[key]
    else merged[key] = value
  }
  return parseCustomMetadata(merged)
}
