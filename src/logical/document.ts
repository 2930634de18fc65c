import { letGo } from '../base/garbage.js'
import { turnFor } from '../base/turn.js'
import { printJson } from '../base/json-print.js'

/**
 * Bytes on their way into the storage, which keeps them encrypted: whoever takes them is the last to have them, so that a
 * large value is not in memory twice while it is written.
 */
export class Document {
  #bytes: Buffer | undefined

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  /** Hands the bytes over, once. */
  take(): Buffer {
    if (!this.#bytes) throw new Error('the document was taken already')
    const bytes = this.#bytes
    this.#bytes = undefined
    return bytes
  }
}

/** The garbage collector is told of texts from this size on; smaller ones it finds soon enough by itself. */
const RELEASED_BYTES = 64 * 1024

/** `value` as it is stored. A large one is printed in several turns of the event loop. */
export const printDocument = async (value: unknown): Promise<Document> => new Document(await bytesOf(printJson(value)))

const bytesOf = async (text: string): Promise<Buffer> => {
  await turnFor(text.length)
  const bytes = Buffer.from(text)
  if (bytes.length > RELEASED_BYTES) letGo(bytes.length)
  await turnFor(bytes.length)
  return bytes
}
