import type { Clock } from '../../base/clock.js'
import { type Wait, whileWaiting } from '../../base/waits.js'
import { LabError } from '../model/lab-error.js'

/** A fact to wait for: undefined when it holds, else what is still false, for people. */
type Fact = () => Promise<string | undefined>

const PAUSE_MS = 25

/** For a fact that costs next to nothing to ask for, because it is in this process. */
export const NEAR_PAUSE_MS = 5

/**
 * Waits until `fact` holds: until it resolves with undefined, and not with what is still false. Gives up after
 * `timeoutMs` milliseconds with LabError `timeout`, which says what was still false, whether or not that answers. A
 * fact that throws is false for now: the server may not answer yet. Rejects with the reason of `signal` when it is
 * aborted.
 *
 * @example
 * import { startLab, systemClock, waitFor } from 'understudy-lab'
 *
 * await using lab = await startLab('pr')
 * const isThere = async () => {
 *   const { status } = await lab.C.client.send('GET', 'kv/greeting')
 *   return status === 200 ? undefined : `it answers ${status}`
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
  pauseMs: number = PAUSE_MS,
): Promise<void> => whileWaiting(what, (wait) => untilTrue(clock, wait, fact, timeoutMs, pauseMs, signal))

const untilTrue = async (
  clock: Clock,
  wait: Wait,
  fact: Fact,
  timeoutMs: number,
  pauseMs: number,
  signal?: AbortSignal,
): Promise<void> => {
  const deadline = clock.monotonic() + timeoutMs
  for (;;) {
    signal?.throwIfAborted()
    const missing = await told(clock, fact, deadline - clock.monotonic(), wait.missing)
    if (missing === undefined) return
    wait.missing = missing
    if (clock.monotonic() >= deadline) {
      throw new LabError('timeout', `gave up waiting for ${wait.what} after ${timeoutMs} ms: ${missing}`)
    }
    await clock.sleep(pauseMs, signal)
  }
}

/** So long at least a fact may take, also one that is asked for at the last moment. */
const FACT_MS_MIN = 250

/** Why the time of a fact is no longer watched. A reason that is made anew has a stack, which costs more than the rest. */
const TOLD = new LabError('interrupted', 'the fact was told')

/** Asks the fact once. One that says nothing until the end, as of a server that is paused, is waited for no longer. */
const told = async (clock: Clock, fact: Fact, leftMs: number, before = ''): Promise<string | undefined> => {
  const isTold = new AbortController()
  const silence = before === '' ? 'no answer' : `${before}; no answer since then`
  const late = clock.sleep(Math.max(leftMs, FACT_MS_MIN), isTold.signal).then(() => silence)
  const answer = fact().catch((error: unknown) => (error instanceof Error ? error.message : String(error)))
  try {
    return await Promise.race([answer, late])
  } finally {
    isTold.abort(TOLD)
  }
}
