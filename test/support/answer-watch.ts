import type { ApiAnswer } from '../../src/client/api-client.js'
import { type Repetition, repeat } from './repeat.js'

export interface AnswerWatch extends Repetition {
  /** Answers with another status than the one that was expected, and requests without an answer. */
  readonly wrong: readonly string[]
}

/** Asks the same over and over, one request at a time, until it is stopped. */
export const watchAnswers = (
  what: string,
  expected: number,
  ask: (n: number) => Promise<Pick<ApiAnswer, 'status' | 'bytes'>>,
): AnswerWatch => {
  const wrong: string[] = []
  const repetition = repeat(async (n) => {
    const { status, bytes } = await ask(n).catch((error: unknown) => ({ status: 0, bytes: String(error) }))
    if (status !== expected) wrong.push(`${what}: ${status} ${bytes.toString().slice(0, 200)}`)
  })
  return Object.assign(repetition, { wrong })
}
