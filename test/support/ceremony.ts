import { generateOperationToken, OPERATION_TOKEN } from '../../src/lab/requests/replication.js'
import type { Cluster } from './clusters.js'

/** Generates a DR operation token on a DR secondary with the key shares of its primary. */
export const operationToken = async (cluster: Pick<Cluster, 'anonymous' | 'unsealKeys'>): Promise<string> => {
  const client = cluster.anonymous
  await client.delete(`${OPERATION_TOKEN}/attempt`)
  const token = await generateOperationToken((path, body) => client.write(path, body), cluster.unsealKeys)
  if (token === undefined) throw new Error('the ceremony did not complete with the shares at hand')
  return token
}

/**
 * Promotes a DR secondary, and waits until it serves clients as a primary. `rootToken` is a root token of its former
 * primary.
 */
export const promoteDr = async (cluster: Cluster, rootToken: string): Promise<void> => {
  const token = await operationToken(cluster)
  await cluster.anonymous.write('sys/replication/dr/secondary/promote', { dr_operation_token: token })
  await cluster.untilStatus('dr', { mode: 'primary' })
  cluster.seal = { ...cluster.seal, rootToken }
  await cluster.untilServes()
}
