import type { Cluster } from './clusters.js'

const PATH = 'sys/replication/dr/secondary/generate-operation-token'

/** A DR operation token, made on a DR secondary with the key shares of its primary. */
export const operationToken = async (cluster: Pick<Cluster, 'anonymous' | 'unsealKeys'>): Promise<string> => {
  const client = cluster.anonymous
  await client.delete(`${PATH}/attempt`)
  const attempt = await client.write(`${PATH}/attempt`)
  const otp = Buffer.from(String(attempt.otp))
  for (const key of cluster.unsealKeys) {
    const update = await client.write(`${PATH}/update`, { key, nonce: attempt.nonce })
    if (update.complete !== true) continue
    const encoded = Buffer.from(String(update.encoded_token), 'base64')
    return Buffer.from(encoded.map((byte, index) => byte ^ (otp[index] ?? 0))).toString()
  }
  throw new Error('the ceremony did not complete with the shares at hand')
}

/** Promotes a DR secondary and waits until it is primary and serves. Its clients' tokens are those of its old primary. */
export const promoteDr = async (cluster: Cluster, rootToken: string): Promise<void> => {
  const token = await operationToken(cluster)
  await cluster.anonymous.write('sys/replication/dr/secondary/promote', { dr_operation_token: token })
  await cluster.untilStatus('dr', { mode: 'primary' })
  cluster.seal = { ...cluster.seal, rootToken }
  await cluster.untilServes()
}
