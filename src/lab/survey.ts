import type { ApiClient } from '../client/api-client.js'
import { type ClusterRecord, clientOf, type LabRecord } from './cluster.js'
import type { Kind } from './kinds.js'
import { statusOf } from './replication.js'
import { isRunning } from './runner/child-process.js'

/** One cluster at a glance; `-` where nothing is known. */
export interface SurveyRow {
  readonly name: string
  readonly process: string
  readonly health: string
  readonly dr: string
  readonly performance: string
  readonly merkleRoot: string
}

export const surveyLab = (lab: LabRecord): Promise<SurveyRow[]> => Promise.all(lab.clusters.map(surveyCluster))

const surveyCluster = async (cluster: ClusterRecord): Promise<SurveyRow> => {
  const row = {
    name: cluster.name,
    process: `pid ${cluster.pid}`,
    health: '-',
    dr: '-',
    performance: '-',
    merkleRoot: '-',
  }
  if (!isRunning(cluster.pid)) return { ...row, process: 'stopped' }
  const client = clientOf({ ...cluster, rootToken: '' })
  try {
    const health = await client.send('GET', 'sys/health')
    const [dr, performance] = [await roleOf(client, 'dr'), await roleOf(client, 'performance')]
    return {
      ...row,
      health: String(health.status),
      dr: dr.text,
      performance: performance.text,
      merkleRoot: (dr.root || performance.root).slice(0, 12) || '-',
    }
  } catch {
    return { ...row, health: 'no answer' }
  } finally {
    client.close()
  }
}

const roleOf = async (client: ApiClient, kind: Kind): Promise<{ text: string; root: string }> => {
  const answer = await client.send('GET', `sys/replication/${kind}/status`)
  if (answer.status !== 200) return { text: `status ${answer.status}`, root: '' }
  const status = await statusOf(client, kind)
  const parts = [status.mode, status.state, status.mode === 'secondary' ? status.connection_state : undefined]
  return { text: parts.filter((part) => part !== undefined).join(', '), root: String(status.merkle_root ?? '') }
}
