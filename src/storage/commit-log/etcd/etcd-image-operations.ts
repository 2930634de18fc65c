import type { RequestOp } from './etcd-api.js'
import { type EtcdImageLayout, splitValue } from './etcd-layout.js'

/** etcd takes 128 operations and 1.5 MiB in a transaction. */
const OPERATIONS_MAX = 100
const BYTES_MAX = 1024 * 1024

export interface SizedOperation {
  readonly operation: RequestOp
  readonly size: number
}

/** What puts a key of the image, or deletes it, and how many parts its value lies in then, which were `before`. */
export const imageOperations = (
  layout: EtcdImageLayout,
  key: string,
  value: Buffer | undefined,
  before = 0,
): { readonly operations: readonly SizedOperation[]; readonly parts: number } => {
  const { first, rest } = value ? splitValue(value) : { first: undefined, rest: [] }
  const put = (place: Buffer, bytes: Buffer): SizedOperation => ({
    operation: { request_put: { key: place, value: bytes } },
    size: bytes.length + key.length,
  })
  const remove = (place: Buffer): SizedOperation => ({
    operation: { request_delete_range: { key: place } },
    size: key.length,
  })
  const operations = rest.map((part, at) => put(layout.data(key, at + 1), part))
  operations.push(first ? put(layout.data(key), first) : remove(layout.data(key)))
  for (let part = rest.length + 1; part <= before; part++) operations.push(remove(layout.data(key, part)))
  return { operations, parts: rest.length }
}

/** Hands the operations over in as many transactions as they need, one after the other. */
export const inTransactions = async (
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
