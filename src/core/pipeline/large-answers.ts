import { letGo } from '../../base/garbage.js'
import { RawJson } from '../../base/json.js'
import type { Request, Response } from '../../logical/request.js'

/** Answers below this size are not counted: as many as there may be connections do no harm. */
const LARGE_BYTES = 64 * 1024

/**
 * Runs a read. An answer that turns out to be large and finds no room is dropped, and read anew once there is room for it:
 * how large it is nobody knows before, and small reads never wait. Where one was read lately another of that size is
 * expected, and gets its room first. `sizeOf`: bytes of what was read.
 */
export const readInRoom = async <Answer>(
  request: Pick<Request, 'operation' | 'answerRoom' | 'namespace' | 'path'>,
  run: () => Promise<Answer>,
  sizeOf: (answer: Answer) => number,
): Promise<Answer> => {
  const { operation, answerRoom } = request
  if (!answerRoom || operation !== 'read') return run()
  const place = `${request.namespace.id}/${request.path}`
  const turn = answerRoom.turn()
  if (turn) await turn
  const expected = answerRoom.expected(place)
  if (expected !== undefined) {
    // Of many that had waited for the same turn, the first has it.
    const isOurTurn = answerRoom.turn() === undefined
    if (!isOurTurn || !answerRoom.tryEnter(expected)) await answerRoom.enter(expected)
  }
  const response = await run()
  const size = sizeOf(response)
  const isLarge = size >= LARGE_BYTES
  if (isLarge) letGo(size)
  if (isLarge || expected !== undefined) answerRoom.note(place, isLarge ? size : undefined)
  const isCounted = expected !== undefined && size <= expected
  if (!isLarge || isCounted || answerRoom.tryEnter(size)) return response
  return answerRoom.enter(size).then(run)
}

/** Bytes of the stored texts that an answer consists of. */
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
