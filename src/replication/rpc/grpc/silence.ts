import type { Socket } from 'node:net'
import type { Clock } from '../../../base/clock.js'
import { LIMITS } from '../../../base/limits.js'
import { nextTurn } from '../../../base/turn.js'
import type { ReplicationTimes } from '../../model/types.js'

export type KeepaliveTimes = Pick<ReplicationTimes, 'keepaliveTimeMs' | 'keepaliveTimeoutMs'>

/** Longer than any connection. This disables the library's timeout: it sends pings, but does not check the responses. */
const NEVER_MS = 2 ** 31 - 1
/** Number of checks within the time that a connection may be silent. */
const LOOKS = 8
/** A peer that receives a large message gets one second per 2 MiB to read and store it. */
const DIGESTED_BYTES_PER_MS = 2 * 1024

/**
 * Returns the gRPC options of each side, with a ping every `keepaliveTimeMs`. The library's own timeout is disabled: its
 * timer fires before pending input is read, and ignores latency. `cutWhenSilent` replaces it.
 */
export const connectionOptions = ({ keepaliveTimeMs }: KeepaliveTimes) => ({
  'grpc.max_receive_message_length': LIMITS.rpcMessageBytesMax,
  'grpc.max_send_message_length': LIMITS.rpcMessageBytesMax,
  'grpc.enable_channelz': 0,
  'grpc.keepalive_time_ms': keepaliveTimeMs,
  'grpc.keepalive_timeout_ms': NEVER_MS,
  'grpc.keepalive_permit_without_calls': 1,
})

/**
 * Destroys a connection that receives no byte for `keepaliveTimeMs + keepaliveTimeoutMs` plus one round trip. Any byte
 * counts, so a large incoming message keeps a connection alive. A peer that was sent a large message may be silent for
 * longer. Time in which this process was busy does not count, because pending input is read before the check.
 * `roundTripMs`: measured during the handshake.
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
    // A peer that sends data also makes progress; a silent peer still has its whole message to process.
    if (bytes !== seen.bytes) undigestedBytes -= (nowMs - seen.atMs) * DIGESTED_BYTES_PER_MS
    undigestedBytes = Math.min(Math.max(undigestedBytes, 0), LIMITS.bodyBytesMax)
    // If the check runs late, this process was busy and has not read its input either.
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
