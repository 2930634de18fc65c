import { type Engine, prefixRange } from './engine.js'
import { compareKeys } from './ordered-map.js'
import { DATA_PREFIX, dataKey } from './raw-keys.js'

export interface KeyScan {
  readonly prefix: string
  /** Only keys that begin behind this one, at full length. */
  readonly after?: string
  readonly limit?: number
}

/** Storage keys below a prefix, in order, in chunks. */
export async function* scanKeys(engine: Engine, { prefix, after, limit }: KeyScan): AsyncGenerator<readonly string[]> {
  const { lt, ...start } = prefixRange(dataKey(prefix))
  const begin = after === undefined || compareKeys(after, prefix) < 0 ? start : { gt: dataKey(after) }
  const from = lt === undefined ? begin : { ...begin, lt }
  const options = limit === undefined ? { values: false } : { values: false, limit }
  for await (const chunk of engine.scan(from, options)) yield chunk.map(({ key }) => key.slice(DATA_PREFIX.length))
}
