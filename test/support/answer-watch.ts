import { setImmediate } from 'node:timers/promises'
import { systemClock } from '../../src/base/clock.js'
import type { ApiAnswer } from '../../src/client/api-client.js'

export interface AnswerWatch {
  readonly count: number
  /** Answers with another status than the one that was expected, and requests without an answer. */
  readonly wrong: readonly string[]
  readonly slowestMs: number
  stop(): Promise<void>
}

/** Asks the same over and over, one request at a time, until it is stopped. */
export const watchAnswers = (
  what: string,
  expected: number,
  ask: (n: number) => Promise<Pick<ApiAnswer, 'status' | 'bytes'>>,
): AnswerWatch => {
  const wrong: string[] = []
  const seen = { count: 0, slowestMs: 0 }
  let isStopping = false
  const run = async () => {
    while (!isStopping) {
      const startedMs = systemClock.monotonic()
      const { status, bytes } = await ask(seen.count++).catch((error: unknown) => ({ status: 0, bytes: String(error) }))
      if (status !== expected) wrong.push(`${what}: ${status} ${bytes.toString().slice(0, 200)}`)
      seen.slowestMs = Math.max(seen.slowestMs, systemClock.monotonic() - startedMs)
      await setImmediate()
    }
  }
  const running = run()
  return {
    wrong,
    get count() {
      return seen.count
    },
    get slowestMs() {
      return seen.slowestMs
    },
    async stop() {
      isStopping = true
      await running
    },
  }
}
