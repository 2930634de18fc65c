/**
 * The storage layout of both KV versions below the mount. The layouts share no prefix, so that an upgrade can be interrupted
 * and resumed at any key: keys below `V1_PREFIX` have not been moved yet.
 */
export const V1_PREFIX = 'data/'

export const CONFIG_KEY = 'config'
export const METADATA_PREFIX = 'metadata/'

export const metadataKey = (path: string): string => METADATA_PREFIX + path

/** Returns the key of a version. The number comes last, so that two paths can never share a key. */
export const versionKey = (path: string, version: number): string => `versions/${path}/${version}`
