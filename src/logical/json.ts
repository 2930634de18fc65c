import { RawJson } from '../base/json.js'

export type { JsonObject, JsonValue } from '../base/json.js'

/** A document as it is stored. A large one stays as it is: as text it would be in memory once more. */
export const storedJson = (stored: Buffer): RawJson =>
  new RawJson(stored.length > TEXT_BYTES_MAX ? stored : stored.toString('utf8'))

const TEXT_BYTES_MAX = 64 * 1024
