import type { Clock } from '../../base/clock.js'
import type { PrimaryConnection } from '../rpc/transport.js'

/** Maximum time in milliseconds to wait for a message that the primary must send. Then the follower reconnects. */
export const MESSAGE_TIMEOUT_MS = 30_000

interface MessageTimeout {
  readonly clock: Clock
  /** Called when no message has arrived for `MESSAGE_TIMEOUT_MS`. It ends the connection. */
  readonly onSilence: () => void
}

/** Waits for `work`. Calls `onSilence` after each `MESSAGE_TIMEOUT_MS` in which `work` has not ended. */
export const watchSilence = async <T>({ clock, onSilence }: MessageTimeout, work: Promise<T>): Promise<T> => {
  const timer = clock.setRepeating(MESSAGE_TIMEOUT_MS, onSilence)
  try {
    return await work
  } finally {
    timer.cancel()
  }
}

type Comparing = Pick<PrimaryConnection, 'call' | 'fetchKeys'>

/** Wraps the calls of a comparison. Each message must arrive within `MESSAGE_TIMEOUT_MS`. */
export const withMessageTimeout = (connection: Comparing, timeout: MessageTimeout): Comparing => ({
  call: (method, request, limits) => watchSilence(timeout, connection.call(method, request, limits)),
  async *fetchKeys(request) {
    const replies = connection.fetchKeys(request)
    try {
      for (;;) {
        const { done, value } = await watchSilence(timeout, replies.next())
        if (done) return
        yield value
      }
    } finally {
      await replies.return(undefined)
    }
  },
})
