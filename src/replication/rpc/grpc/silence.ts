import type { Socket } from 'node:net'
import type { Clock } from '../../../base/clock.js'
import { LIMITS } from '../../../base/limits.js'
import { nextTurn } from '../../../base/turn.js'
import type { ReplicationTimes } from '../../model/types.js'

export type KeepaliveTimes = Pick<ReplicationTimes, 'keepaliveTimeMs' | 'keepaliveTimeoutMs'>

/** Longer than any connection lasts: the library sends pings, and never judges them. */
const NEVER_MS = 2 ** 31 - 1
/** How often a connection is looked at within the time that it may be silent. */
const LOOKS = 8
/** A peer that reads and stores a large message is given a second for each 2 MiB. */
const DIGESTED_BYTES_PER_MS = 2 * 1024

/**
 * Options of gRPC by which each side sends a ping every `keepaliveTimeMs`. The library would also wait for the answer to each
 * of them, by a timer that fires before what arrived meanwhile is read, and knows nothing of latency. `cutWhenSilent` judges.
 */
export const pingOptions = ({ keepaliveTimeMs }: KeepaliveTimes) => ({
  'grpc.keepalive_time_ms': keepaliveTimeMs,
  'grpc.keepalive_timeout_ms': NEVER_MS,
  'grpc.keepalive_permit_without_calls': 1,
})

/**
 * Destroys a connection on which not a byte arrives for `keepaliveTimeMs + keepaliveTimeoutMs`, and for one more round trip.
 * Any byte counts, so a large message under way keeps a connection alive; a peer that was sent one may be silent for longer
 * while it works on it. Time in which this process was busy itself does not count: what arrived meanwhile is read before the
 * connection is judged. `roundTripMs`: as the handshake took it.
 */
export const cutWhenSilent = (
  socket: Pick<Socket, 'bytesRead' | 'bytesWritten' | 'destroy' | 'once'>,
  {
    clock,
    times,
    roundTripMs,
  }: { readonly clock: Clock; readonly times: KeepaliveTimes; readonly roundTripMs: number },
): void => {
  const limitMs = times.keepaliveTimeMs + times.keepaliveTimeoutMs + roundTripMs
  const lookMs = Math.ceil(limitMs / LOOKS)
  let seen = { bytes: socket.bytesRead, atMs: clock.monotonic() }
  let lookedMs = seen.atMs
  let sentBytes = socket.bytesWritten
  let undigestedBytes = 0
  const isSilent = () => {
    const [bytes, nowMs] = [socket.bytesRead, clock.monotonic()]
    undigestedBytes += socket.bytesWritten - sentBytes
    sentBytes = socket.bytesWritten
    // A peer that is heard of works; one that is silent has its whole message left.
    if (bytes !== seen.bytes) undigestedBytes -= (nowMs - seen.atMs) * DIGESTED_BYTES_PER_MS
    undigestedBytes = Math.min(Math.max(undigestedBytes, 0), LIMITS.bodyBytesMax)
    // A look that comes late was kept from coming by this process, which has read nothing either.
    const lateMs = Math.max(0, nowMs - lookedMs - 2 * lookMs)
    lookedMs = nowMs
    seen = bytes === seen.bytes ? { bytes, atMs: seen.atMs + lateMs } : { bytes, atMs: nowMs }
    return nowMs - seen.atMs >= limitMs + undigestedBytes / DIGESTED_BYTES_PER_MS
  }
  const look = async () => {
    if (!isSilent()) return
    await nextTurn()
    await nextTurn()
    if (isSilent()) socket.destroy()
  }
  const timer = clock.setRepeating(lookMs, () => void look())
  socket.once('close', () => timer.cancel())
}
