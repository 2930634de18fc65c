import { RawJson } from '../logical/json.js'
import type { Request, Response } from '../logical/request.js'

/** What is smaller is not counted: as many as there may be connections do no harm. */
const LARGE_CHARACTERS = 64 * 1024

/**
 * Runs a read. An answer that turns out to be large and finds no room is dropped, and read anew once there is room for it:
 * how large it is nobody knows before, and small reads never wait.
 */
export const readInRoom = async (
  request: Pick<Request, 'operation' | 'answerRoom'>,
  run: () => Promise<Response | undefined>,
): Promise<Response | undefined> => {
  const { operation, answerRoom } = request
  if (!answerRoom || operation !== 'read') return run()
  const turn = answerRoom.turn()
  if (turn) await turn
  const response = await run()
  const size = rawCharacters(response)
  if (size < LARGE_CHARACTERS || answerRoom.tryEnter(size)) return response
  return answerRoom.enter(size).then(run)
}

const rawCharacters = (response: Response | undefined): number => {
  const data = response?.data
  if (!data) return 0
  if (data instanceof RawJson) return data.text.length
  let sum = 0
  for (const name in data) {
    const value = data[name]
    if (value instanceof RawJson) sum += value.text.length
  }
  return sum
}
