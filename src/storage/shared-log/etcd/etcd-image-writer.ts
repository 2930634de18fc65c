import type { RequestOp } from './etcd-api.js'
import type { EtcdConnection } from './etcd-connection.js'
import { type EtcdImageLayout, splitValue } from './etcd-layout.js'

type Change = (operations: readonly RequestOp[]) => Promise<unknown>

/** Changes an image in etcd in many small transactions. Each transaction may be executed more than once. */
export class EtcdImageWriter {
  readonly #image: EtcdImageLayout
  readonly #change: Change
  /** By key, the number of parts of each value that is too large for one etcd key. */
  readonly #parts = new Map<string, number>()

  /** Creates a writer for an empty image. */
  constructor(image: EtcdImageLayout, change: Change) {
    this.#image = image
    this.#change = change
  }

  /** Creates a writer for an existing image. Rejects with etcd's error. */
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

  /** Writes values. An undefined value deletes the key. */
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

/** etcd accepts at most 128 operations and 1.5 MiB per transaction. */
const OPERATIONS_MAX = 100
const BYTES_MAX = 1024 * 1024

interface SizedOperation {
  readonly operation: RequestOp
  readonly size: number
}

/**
 * Returns the operations that write or delete a value of the image, and the number of parts of the new value. `before`
 * is the number of parts of the old value.
 */
const imageOperations = (
  layout: EtcdImageLayout,
  key: string,
  value: Buffer | undefined,
  before = 0,
): { readonly operations: readonly SizedOperation[]; readonly parts: number } => {
  const { first, rest } = value ? splitValue(value) : { first: undefined, rest: [] }
  const put = (at: Buffer, bytes: Buffer): SizedOperation => ({
    operation: { request_put: { key: at, value: bytes } },
    size: bytes.length + key.length,
  })
  const remove = (at: Buffer): SizedOperation => ({
    operation: { request_delete_range: { key: at } },
    size: key.length,
  })
  const operations = rest.map((part, index) => put(layout.data(key, index + 1), part))
  operations.push(first ? put(layout.data(key), first) : remove(layout.data(key)))
  for (let part = rest.length + 1; part <= before; part++) operations.push(remove(layout.data(key, part)))
  return { operations, parts: rest.length }
}

/** Runs the operations in one or more transactions within etcd's limits, one after another. */
const inTransactions = async (
  all: readonly SizedOperation[],
  run: (operations: readonly RequestOp[]) => Promise<unknown>,
): Promise<void> => {
  let operations: RequestOp[] = []
  let bytes = 0
  for (const { operation, size } of all) {
    if (operations.length === OPERATIONS_MAX || (bytes + size > BYTES_MAX && operations.length > 0)) {
      await run(operations)
      operations = []
      bytes = 0
    }
    operations.push(operation)
    bytes += size
  }
  if (operations.length > 0) await run(operations)
}
