import type { Kind } from '../../src/replication/model/types.js'
import { ControlCluster } from './control-cluster.js'
import { until } from './until.js'

/** Control clusters of one test that know one another, and what tests do with several of them. */
export class ControlWorld {
  readonly clusters = new Map<string, ControlCluster>()

  start(name: string, prepare?: (cluster: ControlCluster) => void): Promise<ControlCluster> {
    return ControlCluster.start(name, this.clusters, prepare)
  }

  /** For `afterEach`. */
  async stop(): Promise<void> {
    for (const cluster of this.clusters.values()) await cluster.stop()
    this.clusters.clear()
  }

  /** One that dies for good. */
  async lose(cluster: ControlCluster): Promise<void> {
    this.clusters.delete(cluster.apiAddress)
    await cluster.stop()
  }
}

export const issueToken = async (primary: ControlCluster, kind: Kind, id: string): Promise<string> => {
  const response = await primary.post(`replication/${kind}/primary/secondary-token`, { id })
  return response?.wrapInfo?.token ?? ''
}

/** Resolves when the secondary follows the primary and has all of it. */
export const untilStreaming = (secondary: ControlCluster, kind: Kind, primary: ControlCluster): Promise<void> =>
  until(() => {
    const { mode, state, connection_state, merkle_root } = secondary.status(kind)
    const isStreaming = mode === 'secondary' && state === 'stream-wals' && connection_state === 'ready'
    return isStreaming && merkle_root === primary.status(kind).merkle_root
  })

export const joinSet = async (
  secondary: ControlCluster,
  kind: Kind,
  primary: ControlCluster,
  id: string,
): Promise<void> => {
  await secondary.change(`replication/${kind}/secondary/enable`, { token: await issueToken(primary, kind, id) })
  await untilStreaming(secondary, kind, primary)
}

/** Demotes a primary and has it follow another one of its set. */
export const yieldTo = async (loser: ControlCluster, winner: ControlCluster, id: string): Promise<void> => {
  await loser.change('replication/dr/primary/demote')
  const dr_operation_token = await loser.replication.context.operationTokens.create()
  const token = await issueToken(winner, 'dr', id)
  await loser.change('replication/dr/secondary/update-primary', { dr_operation_token, token })
  await untilStreaming(loser, 'dr', winner)
}

export const promoteDr = async (cluster: ControlCluster): Promise<void> => {
  const dr_operation_token = await cluster.replication.context.operationTokens.create()
  await cluster.change('replication/dr/secondary/promote', { dr_operation_token, force: true })
}

/** The text of a refusal; empty when there was none. */
export const refusalOf = async (call: Promise<unknown>): Promise<string> => {
  try {
    await call
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
  return ''
}
