import { LogicalError } from '../../../logical/errors.js'
import { MessageStream } from '../message-stream.js'
import { fromCarried } from '../refusal.js'
import type { CallEnd, WireCall } from './wire-call.js'

/**
 * Wraps a simulated call as the stream type of both transports. The codec converts messages to the bytes that gRPC
 * would send, and back.
 */
export const codedStream = <Out, In>(
  call: WireCall,
  { encode, decode }: { readonly encode: (message: Out) => Buffer; readonly decode: (payload: Buffer) => In },
  finish: (error: unknown) => void,
): MessageStream<Out, In> =>
  new MessageStream<Out, In>(
    {
      write: (message, done) => {
        call.write(encode(message), () => done())
        return true
      },
      pause: () => call.pause(),
      resume: () => call.resume(),
      on: (_event, listener) => call.listen((payload) => listener(decode(payload))),
    },
    finish,
  )

/** Returns the error that the caller of an ended call gets, or undefined if the call succeeded. */
export const errorOf = (end: CallEnd): LogicalError | undefined => {
  if ('lost' in end) return end.lost
  if (!end.refusal) return undefined
  return fromCarried(end.refusal) ?? new LogicalError('unavailable', end.refusal.text)
}
