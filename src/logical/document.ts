import { requestGc } from '../base/garbage.js'
import { yieldToEventLoop } from '../base/turn.js'
import { printJson } from '../base/json-print.js'

/**
 * Bytes to store. `take` releases the only reference, so that a large value is not in memory twice while the storage
 * encrypts it.
 */
export class Document {
  #bytes: Buffer | undefined

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  /** Returns the bytes. Throws if called twice. */
  take(): Buffer {
    if (!this.#bytes) throw new Error('the bytes of the document were already taken')
    const bytes = this.#bytes
    this.#bytes = undefined
    return bytes
  }
}

/**
 * Texts above this size cause a request for garbage collection. Smaller texts are collected soon enough without a
 * request.
 */
const RELEASED_BYTES = 64 * 1024

/** Prints `value` as JSON, the stored form. Takes several turns of the event loop for a large value. */
export const printDocument = async (value: unknown): Promise<Document> => new Document(await bytesOf(printJson(value)))

const bytesOf = async (text: string): Promise<Buffer> => {
  await yieldToEventLoop(text.length)
  const bytes = Buffer.from(text)
  if (bytes.length > RELEASED_BYTES) requestGc(bytes.length)
  await yieldToEventLoop(bytes.length)
  return bytes
}
