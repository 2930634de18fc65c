import { Interrupted } from '../../lab/model/lab-error.js'

/** The first signal of the operator aborts `signal` with an `Interrupted`. The second one aborts `forceSignal`. */
export interface Interruption {
  readonly signal: AbortSignal
  readonly forceSignal: AbortSignal
}

const SIGNALS: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP']

/** Runs `work`. SIGINT, SIGTERM and SIGHUP do not end the process meanwhile, so that `work` can clean up. */
export const withInterrupt = async <T>(work: (interruption: Interruption) => Promise<T>): Promise<T> => {
  const first = new AbortController()
  const second = new AbortController()
  const onSignal = (name: NodeJS.Signals) => {
    if (first.signal.aborted) second.abort()
    else first.abort(new Interrupted(name))
  }
  for (const name of SIGNALS) process.on(name, onSignal)
  try {
    return await work({ signal: first.signal, forceSignal: second.signal })
  } finally {
    for (const name of SIGNALS) process.off(name, onSignal)
  }
}
