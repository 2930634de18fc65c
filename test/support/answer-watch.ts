import type { ApiAnswer } from '../../src/client/api-client.js'
import { type Repetition, repeat } from './repeat.js'

export interface AnswerWatch extends Repetition {
  /** Answers with another status than the one that was expected, and requests without an answer: the first of them. */
  readonly wrong: readonly string[]
}

/** A server that is gone gives thousands of them a second. */
const WRONG_MAX = 100

/** Asks the same over and over, one request at a time, until it is stopped. */
export const watchAnswers = (
  what: string,
  expected: number,
  ask: (n: number) => Promise<Pick<ApiAnswer, 'status' | 'bytes'>>,
): AnswerWatch => {
  const wrong: string[] = []
  const repetition = repeat(async (n) => {
    const { status, bytes } = await ask(n).catch((error: unknown) => ({ status: 0, bytes: String(error) }))
    if (status !== expected && wrong.length < WRONG_MAX)
      wrong.push(`${what}: ${status} ${bytes.toString().slice(0, 200)}`)
  })
  return Object.assign(repetition, { wrong })
}
