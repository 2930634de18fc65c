import type { Random } from '../../../base/random.js'
import { SHORT_HASH_BYTES } from '../../../crypto/digest.js'
import type { Engine } from '../../engine/engine.js'
import type { RequestOp } from './etcd-api.js'
import { EtcdConnection, type EtcdConnectionOptions } from './etcd-connection.js'
import { EtcdImageWriter } from './etcd-image-writer.js'
import { encodeMark, EtcdLayout } from './etcd-layout.js'

/**
 * Writes the content of an engine as the image of a new log to an etcd that holds no log. The image becomes valid with
 * the last transaction. Rejects with the signal's reason, or with etcd's error.
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
    // No entry has this index and hash. The first entry of the log contains the hash as that of its predecessor.
    const start = encodeMark({ index: 1, hash: random.bytes(SHORT_HASH_BYTES), bytes: 0 })
    await change([layout.base, layout.end].map((key) => ({ request_put: { key, value: start } })))
  } finally {
    connection.close()
  }
}
