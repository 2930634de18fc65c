import { requestGc } from '../base/garbage.js'
import { yieldToEventLoop } from '../base/turn.js'
import { printJson } from '../base/json-print.js'

/**
 * Bytes to be stored, which the storage encrypts. `take` releases the only reference, so that a large value is not in memory
 * twice during the write.
 */
export class Document {
  #bytes: Buffer | undefined

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  /** Returns the bytes, once. */
  take(): Buffer {
    if (!this.#bytes) throw new Error('the document was taken already')
    const bytes = this.#bytes
    this.#bytes = undefined
    return bytes
  }
}

/** Texts of at least this size are reported to the garbage collector; it finds smaller ones soon enough. */
const RELEASED_BYTES = 64 * 1024

/** Prints `value` in its stored form. A large value is printed over several turns of the event loop. */
export const printDocument = async (value: unknown): Promise<Document> => new Document(await bytesOf(printJson(value)))

const bytesOf = async (text: string): Promise<Buffer> => {
  await yieldToEventLoop(text.length)
  const bytes = Buffer.from(text)
  if (bytes.length > RELEASED_BYTES) requestGc(bytes.length)
  await yieldToEventLoop(bytes.length)
  return bytes
}
