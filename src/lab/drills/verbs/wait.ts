import { shellWord } from '../../../base/shell.js'
import type { Kind } from '../../model/kinds.js'
import { LabError } from '../../model/lab-error.js'
import { findMissing, type Readiness, READINESS } from '../../status/readiness.js'
import { findLag, statusOf } from '../../requests/replication.js'
import type { WaitValue } from '../drill.js'
import { findMismatch } from '../matcher.js'
import { durationOf } from '../parse.js'
import { findPrimary } from '../../status/links.js'
import { lagBetween, rolesNow } from '../links-now.js'
import type { DrillContext } from '../drill-context.js'

/** Implements the verb `wait`: polls a fact until it holds. */
export const waitForFact = async (context: DrillContext, value: WaitValue): Promise<void> => {
  const { cluster = '', within = '30s' } = value
  context.line(lineOf(context, value))
  const what = value.for === 'converged' ? 'the lab to converge' : `${cluster} to be ${value.for}`
  await context.wait(what, () => findMissingOf(context, value), durationOf(within))
}

const KINDS: readonly Kind[] = ['dr', 'performance']

const findMissingOf = async (context: DrillContext, value: WaitValue): Promise<string | undefined> => {
  const { cluster = '', kind = 'dr' } = value
  const { lab } = context
  switch (value.for) {
    case 'accepting-writes':
      return findRefusal(context, cluster)
    case 'converged':
      return findDivergence(context)
    case 'health': {
      const { status } = await lab.anonymous(cluster).send('GET', 'sys/health')
      return status === value.health ? undefined : `its health is ${status}`
    }
    case 'status':
      return findMismatch(await statusOf(lab.anonymous(cluster), kind), await context.variables.resolve(value.is))
    case 'lag': {
      const lag = await lagBetween(lab, value.primary ?? '', cluster, kind)
      return findMismatch(lag, value.entries, 'the lag')
    }
    default:
      return findMissing(lab.anonymous(cluster), value.for)
  }
}

/** Writes and deletes a policy that no drill reads, which exercises the complete write path. */
const findRefusal = async (context: DrillContext, cluster: string): Promise<string | undefined> => {
  const client = context.lab.withToken(cluster, await context.lab.rootToken(cluster))
  try {
    await client.write('sys/policies/acl/drill-probe', { policy: 'path "drill-probe" { capabilities = ["deny"] }' })
    await client.delete('sys/policies/acl/drill-probe')
    return undefined
  } finally {
    client.close()
  }
}

/** Finds the first secondary whose Merkle root differs from that of its primary in this lab. */
const findDivergence = async ({ lab }: DrillContext): Promise<string | undefined> => {
  const clusters = await rolesNow(lab)
  for (const cluster of clusters) {
    for (const kind of KINDS) {
      const primary = cluster[kind].mode === 'secondary' ? findPrimary(cluster, clusters, kind) : undefined
      if (primary === undefined) continue
      const lag = await findLag(lab.anonymous(primary.name), lab.anonymous(cluster.name), kind)
      if (lag !== undefined) return `${cluster.name} (${kind}): ${lag}`
    }
  }
  return undefined
}

const lineOf = ({ lab }: DrillContext, { for: what, cluster, kind }: WaitValue): string => {
  if (READINESS.some((known): known is Readiness => known === what))
    return `understudy wait --for ${what} --cluster ${cluster}`
  if (what === 'converged') return 'understudy wait --for replicated'
  if (cluster === undefined) throw new LabError('usage', `wait for ${what} needs a cluster`)
  const at = shellWord(`-address=${lab.cluster(cluster).apiAddress}`)
  if (what === 'accepting-writes') return `understudy wait --for active --cluster ${cluster}`
  if (what === 'health') return `vault status ${at}`
  return `vault read ${at} sys/replication/${kind}/status`
}
