/**
 * The storage keys of both KV versions, relative to the mount. The versions share no prefix, so that an upgrade can be
 * interrupted and resumed at any key: keys below `V1_PREFIX` are not upgraded yet.
 */

export const V1_PREFIX = 'data/'

export const CONFIG_KEY = 'config'
export const METADATA_PREFIX = 'metadata/'

export const metadataKey = (path: string): string => METADATA_PREFIX + path

/** Returns the key of a version. The number is the last segment, so that two paths never have the same key. */
export const versionKey = (path: string, version: number): string => `versions/${path}/${version}`
