import type { NodeSeat } from '../parts/node-seat.js'
import type { RuntimeChanges } from '../parts/runtime-changes.js'

interface Place {
  readonly seat: NodeSeat | undefined
  readonly changes: Pick<RuntimeChanges, 'runtime' | 'settled'>
}

/** A runtime was sealed: the server is, when this resolves, whatever is about to take the place of that runtime. */
export const sealPlace = async (
  sealed: NonNullable<RuntimeChanges['runtime']>,
  { seat, changes }: Place,
): Promise<void> => {
  await seat?.sealed()
  if (changes.runtime === sealed) return
  // It was given the key that the sealed one had the moment before.
  await changes.settled()
  await changes.runtime?.seal.seal()
}
