import type { Entry, ImageState } from '../../server/data/cluster-image.js'
import type { Kind } from '../model/kinds.js'

/** All data of a server at one time, in memory. */
export interface ServerImage {
  readonly isRunning: boolean
  readonly state: ImageState
  readonly chunks: readonly (readonly Entry[])[]
  /** The kinds of replication in which it streamed from a primary. */
  readonly streams: readonly Kind[]
}

/** The state of a stopped server. */
export const AT_REST: ImageState = { skewMs: 0, holds: [], isSealed: true }

export const collect = async (chunks: AsyncIterable<readonly Entry[]>): Promise<(readonly Entry[])[]> => {
  const all: (readonly Entry[])[] = []
  for await (const chunk of chunks) all.push(chunk)
  return all
}

export async function* eachOf(chunks: readonly (readonly Entry[])[]): AsyncGenerator<readonly Entry[]> {
  yield* chunks
}
