import { requestGc } from '../../base/garbage.js'
import { RawJson } from '../../base/json.js'
import type { Request, Response } from '../../logical/request.js'

/** Smaller responses do not count against the budget: even one such response per connection uses little memory. */
const LARGE_BYTES = 64 * 1024

/**
 * Runs a read within the response budget. The size of a response is unknown before the read. If a large response
 * exceeds the budget, discards the response, waits until the budget has space, and reads again. If the last response at
 * this path was large, reserves its size before the read. `sizeOf` returns the size in bytes.
 */
export const readWithinBudget = async <Answer>(
  request: Pick<Request, 'operation' | 'responseBudget' | 'namespace' | 'path'>,
  run: () => Promise<Answer>,
  sizeOf: (answer: Answer) => number,
): Promise<Answer> => {
  const { operation, responseBudget } = request
  if (!responseBudget || operation !== 'read') return run()
  const pathKey = `${request.namespace.id}/${request.path}`
  const turn = responseBudget.turn()
  if (turn) await turn
  const expected = responseBudget.expected(pathKey)
  if (expected !== undefined) {
    // If several responses waited for the same turn, only the first one gets it.
    const isOurTurn = responseBudget.turn() === undefined
    if (!isOurTurn || !responseBudget.tryEnter(expected)) await responseBudget.enter(expected)
  }
  const response = await run()
  const size = sizeOf(response)
  const isLarge = size >= LARGE_BYTES
  if (isLarge) requestGc(size)
  if (isLarge || expected !== undefined) responseBudget.note(pathKey, isLarge ? size : undefined)
  const isCounted = expected !== undefined && size <= expected
  if (!isLarge || isCounted || responseBudget.tryEnter(size)) return response
  return responseBudget.enter(size).then(run)
}

/** Returns the size in bytes of the stored texts in a response. */
export const rawSize = (response: Response | undefined): number => {
  const data = response?.data
  if (!data) return 0
  if (data instanceof RawJson) return data.size
  let sum = 0
  for (const name in data) {
    const value = data[name]
    if (value instanceof RawJson) sum += value.size
  }
  return sum
}
