import type { Random } from '../../../base/random.js'
import { SHORT_HASH_BYTES } from '../../../crypto/digest.js'
import type { Engine } from '../../engine/engine.js'
import type { RequestOp } from './etcd-api.js'
import { EtcdConnection, type EtcdConnectionOptions } from './etcd-connection.js'
import { EtcdImageWriter } from './etcd-image-writer.js'
import { encodeMark, EtcdLayout } from './etcd-layout.js'

/**
 * Creates a shared log in an etcd without one. Writes the content of an engine as the image. The image becomes valid
 * with the last transaction. Rejects with the signal's reason, or with etcd's error.
 */
export const beginLog = async (
  { prefix, ...options }: EtcdConnectionOptions & { readonly prefix: string },
  engine: Engine,
  random: Random,
  signal: AbortSignal,
): Promise<void> => {
  const connection = new EtcdConnection(options)
  const layout = new EtcdLayout(prefix)
  const change = (success: readonly RequestOp[]) => connection.ask('Txn', { compare: [], success }, signal)
  try {
    const writer = new EtcdImageWriter(layout.image(0), change)
    for await (const entries of engine.scan({})) await writer.write(entries.map(({ key, value }) => [key, value]))
    // The log starts after index 1. The first entry contains this hash as the hash of its predecessor.
    const start = encodeMark({ index: 1, hash: random.bytes(SHORT_HASH_BYTES), bytes: 0 })
    await change([layout.base, layout.end].map((key) => ({ request_put: { key, value: start } })))
  } finally {
    connection.close()
  }
}
