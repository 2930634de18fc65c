/**
 * Where the two versions keep their keys below the mount. They never share a prefix, so that an upgrade can stop and go
 * on at any key: what still lies below `V1_PREFIX` has not been moved.
 */
export const V1_PREFIX = 'data/'

export const CONFIG_KEY = 'config'
export const METADATA_PREFIX = 'metadata/'

/** The folder that a list asks for, as the end of a key prefix: empty at the top, else with its slash. */
export const folder = (path: string): string => (path === '' || path.endsWith('/') ? path : `${path}/`)

export const metadataKey = (path: string): string => METADATA_PREFIX + path

/** The number comes last, so that no two paths can meet in one key. */
export const versionKey = (path: string, version: number): string => `versions/${path}/${version}`
