import type { Clock } from '../../base/clock.js'
import { LogicalError } from '../../logical/errors.js'
import type { CallLimits } from './transport.js'

/**
 * Calls `abort` with the reason when a call times out or its signal is aborted. The caller must call the returned
 * function when the call has ended.
 */
export const watchLimits = (
  { timeoutMs, signal }: CallLimits,
  { clock, address }: { readonly clock: Clock; readonly address: string },
  abort: (why: unknown) => void,
): (() => void) => {
  const onAbort = () => abort(signal?.reason)
  signal?.addEventListener('abort', onAbort, { once: true })
  const timer =
    timeoutMs === undefined
      ? undefined
      : clock.setTimer(timeoutMs, () =>
          abort(new LogicalError('unavailable', `no response from ${address} within ${Math.round(timeoutMs)} ms`)),
        )
  return () => {
    timer?.cancel()
    signal?.removeEventListener('abort', onAbort)
  }
}
