/** The paths for the settings of a whole mount. */
import { type BackendContext, definePath, type PathSpec } from '../../logical/backend.js'
import { invalid } from '../../logical/errors.js'
import { bool, int } from '../../logical/fields.js'
import { putJson, readJson } from '../../logical/storage.js'

interface KeysConfig {
  readonly disable_upsert: boolean
}

interface CacheConfig {
  readonly size: number
}

const KEYS_CONFIG = 'config/keys'
const CACHE_CONFIG = 'config/cache'

const CACHE_SIZE_MIN = 10

/** Returns true if an encryption must not create a missing key. */
export const isUpsertDisabled = ({ storage }: BackendContext): boolean =>
  readJson<KeysConfig>(storage, KEYS_CONFIG)?.disable_upsert ?? false

const CACHE_FIELDS = { size: int('Size of the cache, which has no effect. 0 means unlimited.') } as const

const KEYS_FIELDS = { disable_upsert: bool('Whether an encryption must not create a missing key.') } as const

export const mountConfigPaths = (context: BackendContext): PathSpec[] => {
  const { storage } = context
  const store = async <T extends object>(key: string, data: T) => {
    await storage.write((tx) => putJson(tx, key, data))
    return { data: { ...data } }
  }
  return [
    definePath('cache-config', CACHE_FIELDS, 'Read or set the size of the key cache.', {
      read: () => ({ data: { size: readJson<CacheConfig>(storage, CACHE_CONFIG)?.size ?? 0 } }),
      update: ({ values: { size } }) => {
        if (size !== 0 && size < CACHE_SIZE_MIN) {
          throw invalid(`size must be 0 or a value greater or equal to ${CACHE_SIZE_MIN}`)
        }
        return store(CACHE_CONFIG, { size })
      },
    }),
    definePath('config/keys', KEYS_FIELDS, 'Read or change the settings of all keys.', {
      read: () => ({ data: { disable_upsert: isUpsertDisabled(context) } }),
      update: ({ values: { disable_upsert } }) => store(KEYS_CONFIG, { disable_upsert }),
    }),
  ]
}
