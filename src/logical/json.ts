import { RawJson } from '../base/json.js'

export type { JsonObject, JsonValue } from '../base/json.js'

/** Returns a stored document. A large one stays as bytes, since a conversion to text would double its memory. */
export const storedJson = (stored: Buffer): RawJson =>
  new RawJson(stored.length > TEXT_BYTES_MAX ? stored : stored.toString('utf8'))

const TEXT_BYTES_MAX = 64 * 1024
