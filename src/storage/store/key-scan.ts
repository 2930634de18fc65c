import { type Engine, type EngineSnapshot, prefixRange } from '../engine/engine.js'
import { compareKeys } from '../engine/ordered-map.js'
import { DATA_PREFIX, dataKey } from '../keys/raw-keys.js'

export interface KeyScan {
  readonly prefix: string
  /** If set, the scan starts after this storage key. */
  readonly after?: string
  readonly limit?: number
}

/** Yields the storage keys below a prefix in chunks, in order. Calls `findSnapshot` at the first read. */
export async function* scanKeys(
  engine: Engine,
  { prefix, after, limit }: KeyScan,
  findSnapshot: () => EngineSnapshot | undefined = () => undefined,
): AsyncGenerator<readonly string[]> {
  const { lt, ...start } = prefixRange(dataKey(prefix))
  const begin = after === undefined || compareKeys(after, prefix) < 0 ? start : { gt: dataKey(after) }
  const from = lt === undefined ? begin : { ...begin, lt }
  const snapshot = findSnapshot()
  const options = { values: false, ...(limit === undefined ? {} : { limit }), ...(snapshot && { snapshot }) }
  for await (const chunk of engine.scan(from, options)) yield chunk.map(({ key }) => key.slice(DATA_PREFIX.length))
}
