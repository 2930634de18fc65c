import { createHash, type Hash } from 'node:crypto'
import { vi } from 'vitest'

export interface Turns {
  /** Turns of the event loop that went by. */
  readonly passed: number
  /** Turns that the work itself has waited for. */
  readonly given: number
  /** The most bytes that were given to hashes piece by piece, in one turn. */
  readonly hashedMax: number
}

/** What others have had of the event loop until `work` was done. */
export const watchTurns = async (work: () => Promise<unknown>): Promise<Turns> => {
  const hash = Object.getPrototypeOf(createHash('sha256')) as Hash
  const { update } = hash
  const { setImmediate } = globalThis
  let passed = 0
  let hashed = 0
  let hashedMax = 0
  let isDone = false
  const count = () => {
    passed++
    hashed = 0
    if (!isDone) setImmediate(count)
  }
  setImmediate(count)
  const given = vi.spyOn(globalThis, 'setImmediate')
  const updates = vi.spyOn(hash, 'update').mockImplementation(function (
    this: Hash,
    data: string | NodeJS.ArrayBufferView,
  ) {
    hashed += data instanceof Uint8Array ? data.length : 0
    hashedMax = Math.max(hashedMax, hashed)
    return Reflect.apply(update, this, [data])
  })
  try {
    await work()
    return { passed, given: given.mock.calls.length, hashedMax }
  } finally {
    isDone = true
    given.mockRestore()
    updates.mockRestore()
  }
}
