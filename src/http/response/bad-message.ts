import type { Clock } from '../../base/clock.js'
import type { Socket } from 'node:net'
import type { MessageGate } from '../connection/message-gate.js'
import { rawAnswer } from './respond.js'

/**
 * The time, in milliseconds, for which the server continues to read after a response that was sent before the end of a
 * message.
 */
const LINGER_MS = 1000

/** The responses by error code of Node's HTTP parser. All other codes mean a malformed message. */
const REFUSALS: Readonly<Record<string, Parameters<typeof rawAnswer>>> = {
  HPE_HEADER_OVERFLOW: [431, 'Request Header Fields Too Large', 'request headers are too large'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'Payload Too Large', 'chunk extensions are too large'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'Request Timeout', 'the request did not arrive in time'],
}
const MALFORMED: Parameters<typeof rawAnswer> = [400, 'Bad Request', 'malformed HTTP message']

/**
 * Responds in JSON to a message that Node's parser has rejected, and closes the connection. Only closes the connection
 * if a response has already begun. The gate passes on a message only after the response to the previous message, so a
 * client cannot mistake this response for another.
 */
export const answerBadMessage = (
  error: NodeJS.ErrnoException,
  socket: Socket,
  gate: MessageGate | undefined,
  clock: Clock,
): void => {
  gate?.stop()
  const isAnswering = gate?.openResponse?.headersSent === true
  if (isAnswering || !socket.writable || error.code === 'ECONNRESET' || error.code === 'EPIPE') {
    socket.destroy()
    return
  }
  socket.end(rawAnswer(...(REFUSALS[error.code ?? ''] ?? MALFORMED)))
  linger(socket, clock)
}

/** Rejects a CONNECT request, because the API does not support tunnels. */
export const answerConnect = (socket: Socket, gate: MessageGate | undefined, clock: Clock): void => {
  gate?.stop()
  socket.on('error', () => socket.destroy())
  socket.end(rawAnswer(405, 'Method Not Allowed', ''))
  linger(socket, clock)
}

/**
 * Reads and discards bytes for a while before it closes a socket. Closing a socket with unread bytes would reset the
 * connection, and the client could lose the response.
 */
export const linger = (socket: Socket, clock: Clock): void => {
  const timer = clock.setTimer(LINGER_MS, () => socket.destroy())
  socket.once('close', () => timer.cancel())
  socket.once('end', () => socket.destroy())
}

/**
 * Responds to plain HTTP on a TLS port, with the text of Go's server. The TLS socket `secure` has failed, but its
 * underlying socket still works.
 */
export const answerPlain = (secure: Socket): void => {
  const { _parent: socket } = secure as Socket & { readonly _parent?: Socket }
  socket?.end('HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n')
}
