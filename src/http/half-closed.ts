import type { Socket } from 'node:net'
import type { MessageGate } from './message-gate.js'

/**
 * A client may close its direction of a connection once it has sent its requests. Node's server, which knows nothing of
 * messages in the fast lane, would then end the connection before they are answered: it hears of the end after the last one.
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
