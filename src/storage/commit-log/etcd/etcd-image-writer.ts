import type { RequestOp } from './etcd-api.js'
import type { EtcdConnection } from './etcd-connection.js'
import { imageOperations, inTransactions, type SizedOperation } from './etcd-image-operations.js'
import type { EtcdImageLayout } from './etcd-layout.js'

type Change = (operations: readonly RequestOp[]) => Promise<unknown>

/** Changes an image key by key, in many small transactions, each of which may happen twice. */
export class EtcdImageWriter {
  readonly #image: EtcdImageLayout
  readonly #change: Change
  /** Keys whose values lie in parts, and in how many. */
  readonly #parts = new Map<string, number>()

  /** For an image that is empty. */
  constructor(image: EtcdImageLayout, change: Change) {
    this.#image = image
    this.#change = change
  }

  /** For an image as it is. */
  static async open(
    image: EtcdImageLayout,
    connection: Pick<EtcdConnection, 'ask'>,
    signal: AbortSignal,
    change: Change,
  ): Promise<EtcdImageWriter> {
    const writer = new EtcdImageWriter(image, change)
    const { kvs } = await connection.ask('Range', { ...image.parts, keys_only: true }, signal)
    for (const { key } of kvs) {
      const rawKey = image.rawKeyOf(key)
      writer.#parts.set(rawKey, (writer.#parts.get(rawKey) ?? 0) + 1)
    }
    return writer
  }

  /** Undefined deletes the key. */
  async write(values: Iterable<readonly [key: string, value: Buffer | undefined]>): Promise<void> {
    const operations = [...values].flatMap(([key, value]) => this.#operationsOf(key, value))
    await inTransactions(operations, this.#change)
  }

  #operationsOf(key: string, value: Buffer | undefined): readonly SizedOperation[] {
    const { operations, parts } = imageOperations(this.#image, key, value, this.#parts.get(key))
    if (parts > 0) this.#parts.set(key, parts)
    else this.#parts.delete(key)
    return operations
  }
}
