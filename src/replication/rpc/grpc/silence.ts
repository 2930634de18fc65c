import type { Socket } from 'node:net'
import type { Clock } from '../../../base/clock.js'
import { LIMITS } from '../../../base/limits.js'
import { nextTurn } from '../../../base/turn.js'
import type { ReplicationTimes } from '../../model/types.js'

export type KeepaliveTimes = Pick<ReplicationTimes, 'keepaliveTimeMs' | 'keepaliveTimeoutMs'>

/**
 * Value of the library's keepalive timeout in milliseconds. It is longer than any connection, so that the library sends
 * pings but does not check the responses.
 */
const NEVER_MS = 2 ** 31 - 1
/** Number of checks within the maximum time of silence. */
const CHECKS = 4
/** Bytes per millisecond (2 MiB/s) at which a peer is expected to read and store a large message. */
const PROCESSED_BYTES_PER_MS = 2 * 1024

/**
 * Returns the gRPC options for both sides, with a ping every `keepaliveTimeMs`. The library's own timeout is disabled,
 * because its timer fires before pending input is read, and ignores latency. `cutWhenSilent` replaces it.
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
 * Destroys a connection that receives no byte for `keepaliveTimeMs + keepaliveTimeoutMs` plus one round trip
 * (`roundTripMs`, measured during the handshake). Any byte counts, so a large incoming message keeps the connection
 * open. A peer that was sent a large message may be silent for longer. Time in which this process was busy does not
 * count.
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
  const checkMs = Math.ceil(limitMs / CHECKS)
  let seen = { bytes: socket.bytesRead, atMs: clock.monotonic() }
  let checkedMs = seen.atMs
  let sentBytes = socket.bytesWritten
  let unprocessedBytes = 0
  const isSilent = () => {
    const [bytes, nowMs] = [socket.bytesRead, clock.monotonic()]
    unprocessedBytes += socket.bytesWritten - sentBytes
    sentBytes = socket.bytesWritten
    // A peer that sends data also processes its input. A silent peer still has its whole message to process.
    if (bytes !== seen.bytes) unprocessedBytes -= (nowMs - seen.atMs) * PROCESSED_BYTES_PER_MS
    unprocessedBytes = Math.min(Math.max(unprocessedBytes, 0), LIMITS.bodyBytesMax)
    // If the check runs late, this process was busy and has not read its own input.
    const lateMs = Math.max(0, nowMs - checkedMs - 2 * checkMs)
    checkedMs = nowMs
    seen = bytes === seen.bytes ? { bytes, atMs: seen.atMs + lateMs } : { bytes, atMs: nowMs }
    return nowMs - seen.atMs >= limitMs + unprocessedBytes / PROCESSED_BYTES_PER_MS
  }
  const check = async () => {
    if (!isSilent()) return
    await nextTurn()
    await nextTurn()
    if (isSilent()) socket.destroy()
  }
  const timer = clock.setRepeating(checkMs, () => void check())
  socket.once('close', () => timer.cancel())
}
