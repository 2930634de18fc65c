import type { Clock } from '../base/clock.js'
import type { Socket } from 'node:net'
import type { MessageGate } from './message-gate.js'
import { rawAnswer } from './respond.js'

/** How long a connection that was answered in the middle of a message is still read from, so that the answer arrives. */
const LINGER_MS = 1000

/** Answers by the error code of Node's HTTP parser; any other code is a malformed message. */
const REFUSALS: Readonly<Record<string, { status: number; reason: string; text: string }>> = {
  HPE_HEADER_OVERFLOW: {
    status: 431,
    reason: 'Request Header Fields Too Large',
    text: 'request headers are too large',
  },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: { status: 413, reason: 'Payload Too Large', text: 'chunk extensions are too large' },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, reason: 'Request Timeout', text: 'the request did not arrive in time' },
}
const MALFORMED = { status: 400, reason: 'Bad Request', text: 'malformed HTTP message' }

/**
 * Answers what Node's parser gave up on, in JSON, and ends the connection. Only where no answer has begun: the gate lets no
 * second message in before the first is answered, so that this one cannot stand in for another.
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
  const { status, reason, text } = REFUSALS[error.code ?? ''] ?? MALFORMED
  socket.end(rawAnswer(status, reason, text))
  linger(socket, clock)
}

/** A tunnel is no part of the API. */
export const answerConnect = (socket: Socket, gate: MessageGate | undefined, clock: Clock): void => {
  gate?.stop()
  socket.on('error', () => socket.destroy())
  socket.end(rawAnswer(405, 'Method Not Allowed', ''))
  linger(socket, clock)
}

/** Closing while bytes are unread would reset the connection and may take the answer with it. */
export const linger = (socket: Socket, clock: Clock): void => {
  const timer = clock.setTimer(LINGER_MS, () => socket.destroy())
  socket.once('close', () => timer.cancel())
  socket.once('end', () => socket.destroy())
}

/** As Go's server answers a client that speaks plain HTTP where TLS is expected. `secure` has failed; the socket below it has not. */
export const answerPlain = (secure: Socket): void => {
  const { _parent: socket } = secure as Socket & { readonly _parent?: Socket }
  socket?.end('HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n')
}
