import type { NodeSeat } from '../parts/node-seat.js'
import type { RuntimeChanges } from '../parts/runtime-changes.js'

interface Place {
  readonly seat: NodeSeat | undefined
  readonly changes: Pick<RuntimeChanges, 'runtime' | 'settled'>
}

/** Seals the server after a runtime was sealed. Resolves when whatever replaces that runtime is sealed too. */
export const sealPlace = async (
  sealed: NonNullable<RuntimeChanges['runtime']>,
  { seat, changes }: Place,
): Promise<void> => {
  await seat?.sealed()
  if (changes.runtime === sealed) return
  // The replacement received the key that the sealed runtime had a moment before.
  await changes.settled()
  await changes.runtime?.seal.seal()
}
