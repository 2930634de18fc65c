/**
 * The type declarations of the PGP library use stream types of a package that the library does not include. This module
 * declares these types. The server does not use streams of the library.
 */
declare module '@openpgp/web-stream-tools' {
  import type { ReadableStream } from 'node:stream/web'
  import type { Readable } from 'node:stream'

  export type WebStream<T> = ReadableStream<T>
  export type NodeWebStream<T> = Readable & AsyncIterable<T>
}
