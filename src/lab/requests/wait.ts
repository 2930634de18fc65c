import type { Clock } from '../../base/clock.js'
import { messageOf } from '../../base/printable.js'
import { whileWaiting } from '../../base/progress.js'
import { requireValid } from '../documents/check.js'
import { mapWith, type Schema } from '../documents/schema.js'
import { LabError } from '../model/lab-error.js'
import { findNotListening } from './request-errors.js'

/** A condition. Resolves with undefined if it holds, otherwise with a description of why it does not hold. */
type Fact = () => Promise<string | undefined>

export interface WaitOptions {
  readonly clock: Clock
  /** Timeout of each wait, in milliseconds. */
  readonly timeoutMs: number
  /** Aborts every wait. */
  readonly signal?: AbortSignal | undefined
}

const TIMEOUT: Schema = { type: 'number', title: 'a number of milliseconds' }
const ARGUMENTS = mapWith(
  { clock: { type: 'object' }, what: { type: 'string' }, fact: { type: 'function' }, timeoutMs: TIMEOUT },
  ['clock', 'what', 'fact', 'timeoutMs'],
)

/** First pause between two evaluations of a condition, in milliseconds. The pause doubles up to the maximum. */
const PAUSE_MS = 5
const PAUSE_MS_MAX = 25

/** Pause between two evaluations of a cheap condition within this process, in milliseconds. */
export const NEAR_PAUSE_MS = 5

/**
 * Calls `fact` until it resolves with undefined. Until the condition holds, `fact` resolves with a description of why
 * not. After `timeoutMs` milliseconds, throws LabError `timeout` with the last description, even if `fact` does not
 * respond. If `fact` rejects, it is called again, because the server may respond later. If `signal` is aborted, rejects
 * with its reason.
 *
 * @example
 * import { startLab, systemClock, waitFor } from 'understudy-lab'
 *
 * await using lab = await startLab('pr')
 * const isThere = async () => {
 *   const { status } = await lab.C.client.send('GET', 'kv/greeting')
 *   return status === 200 ? undefined : `the status is ${status}`
 * }
 * await lab.A.client.write('sys/mounts/kv', { type: 'kv' })
 * await lab.A.client.write('kv/greeting', { word: 'hello' })
 * await waitFor(systemClock, 'the greeting on C', isThere, 20_000)
 */
export const waitFor = (
  clock: Clock,
  what: string,
  fact: Fact,
  timeoutMs: number,
  signal?: AbortSignal,
  pauseMs?: number,
): Promise<void> =>
  whileWaiting(what, async (wait) => {
    requireValid('waitFor', ARGUMENTS, { clock, what, fact, timeoutMs }, 'the call')
    const deadline = clock.monotonic() + timeoutMs
    for (let nextMs = PAUSE_MS; ; nextMs = Math.min(nextMs * 2, PAUSE_MS_MAX)) {
      signal?.throwIfAborted()
      const missing = await evaluate(clock, fact, deadline - clock.monotonic(), wait.missing)
      if (missing === undefined) return
      wait.missing = missing
      if (clock.monotonic() >= deadline)
        throw new LabError('timeout', `timed out after ${timeoutMs} ms waiting for ${what}: ${missing}`)
      await clock.sleep(pauseMs ?? nextMs, signal)
    }
  })

/** Minimum timeout of one evaluation, in milliseconds, even shortly before the timeout of the wait. */
const FACT_MS_MIN = 250

/**
 * The reason for aborting the timeout. Shared, because an error with a stack for each evaluation would be expensive.
 */
const EVALUATED = new LabError('interrupted', 'the condition was evaluated')

/**
 * Evaluates the condition once, with a timeout, because a suspended server never responds. `before`: the last
 * description.
 */
const evaluate = async (clock: Clock, fact: Fact, leftMs: number, before = ''): Promise<string | undefined> => {
  const evaluated = new AbortController()
  const silence = before === '' ? 'no response' : `${before}; no response since then`
  const late = clock.sleep(Math.max(leftMs, FACT_MS_MIN), evaluated.signal).then(() => silence)
  const answer = fact().catch((error: unknown) => findNotListening(error) ?? messageOf(error))
  try {
    return await Promise.race([answer, late])
  } finally {
    evaluated.abort(EVALUATED)
  }
}
