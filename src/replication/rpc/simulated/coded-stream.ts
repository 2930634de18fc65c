import { LogicalError } from '../../../logical/errors.js'
import { MessageStream } from '../message-stream.js'
import { fromCarried } from '../refusal.js'
import type { CallEnd, WireCall } from './wire-call.js'

/** How messages become the bytes that gRPC would send, and back. */
interface Codec<Out, In> {
  readonly encode: (message: Out) => Buffer
  readonly decode: (payload: Buffer) => In
}

/** Both directions of a call as the stream that both transports have in common. */
export const codedStream = <Out, In>(
  call: WireCall,
  { encode, decode }: Codec<Out, In>,
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

/** The error of a call that ended, seen by its caller; undefined when it ended well. */
export const errorOf = (end: CallEnd): LogicalError | undefined => {
  if ('lost' in end) return end.lost
  if (!end.refusal) return undefined
  const { code, text, overtaker } = end.refusal
  return fromCarried({ code, text, overtaker }) ?? new LogicalError('unavailable', text)
}
