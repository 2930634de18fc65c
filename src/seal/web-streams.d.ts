/** The PGP library's declarations use stream types of a package that it does not include. Streams are not used here. */
declare module '@openpgp/web-stream-tools' {
  import type { ReadableStream } from 'node:stream/web'
  import type { Readable } from 'node:stream'

  export type WebStream<T> = ReadableStream<T>
  export type NodeWebStream<T> = Readable & AsyncIterable<T>
}
