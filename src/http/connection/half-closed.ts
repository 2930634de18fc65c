import type { Socket } from 'node:net'
import type { MessageGate } from './message-gate.js'

/**
 * Delays the socket's `end` event until the last response. A client may half-close a connection after its last request.
 * Node's server does not know about messages in the fast lane, so it would close the connection before they are answered.
 */
export const awaitAnswers = (socket: Socket, gate: MessageGate): void => {
  const listener = socket.listeners('end').at(-1) as (() => void) | undefined
  if (!listener) return
  const pass = () => {
    const answer = gate.dueAnswer
    if (answer) answer.once('close', pass)
    else if (!socket.destroyed) listener.call(socket)
  }
  socket.off('end', listener)
  socket.on('end', pass)
}
