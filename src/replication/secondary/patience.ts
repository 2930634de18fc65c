import type { Clock } from '../../base/clock.js'
import type { PrimaryConnection } from '../rpc/transport.js'

/** Maximum time to wait for an expected message of the primary, in milliseconds. Then the follower reconnects. */
export const PATIENCE_MS = 30_000

interface Patience {
  readonly clock: Clock
  /** Called when an expected message has not arrived for `PATIENCE_MS`. Ends the connection. */
  readonly onSilence: () => void
}

/** Waits for `work`, and calls `onSilence` each time that `PATIENCE_MS` has passed. */
export const withPatience = async <T>({ clock, onSilence }: Patience, work: Promise<T>): Promise<T> => {
  const timer = clock.setRepeating(PATIENCE_MS, onSilence)
  try {
    return await work
  } finally {
    timer.cancel()
  }
}

type Comparing = Pick<PrimaryConnection, 'call' | 'fetchKeys'>

/** Wraps the calls of a comparison: each message must arrive within `PATIENCE_MS`. */
export const comparingOver = (connection: Comparing, patience: Patience): Comparing => ({
  call: (method, request, limits) => withPatience(patience, connection.call(method, request, limits)),
  async *fetchKeys(request) {
    const replies = connection.fetchKeys(request)
    try {
      for (;;) {
        const { done, value } = await withPatience(patience, replies.next())
        if (done) return
        yield value
      }
    } finally {
      await replies.return(undefined)
    }
  },
})
