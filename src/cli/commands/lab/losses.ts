import { counted } from '../../../base/counted.js'
import type { Command } from 'commander'
import { messageOf } from '../../../base/printable.js'
import type { LiveLab } from '../../../lab/live/live-lab.js'
import { openLab } from '../../../lab/live/open-lab.js'
import type { ClusterAccess } from '../../../lab/model/cluster.js'
import { LabError } from '../../../lab/model/lab-error.js'
import { thisHost } from '../../../lab/processes/lab-host.js'
import {
  type ClusterLoss,
  countLost,
  describeEntries,
  describeRestored,
  readLosses,
  restoredBy,
} from '../../../lab/requests/losses.js'
import { TypedCommand } from '../../terminal/command.js'
import { formatTable, type Output } from '../../terminal/output.js'

/** The losses of one cluster, or why they are unknown. */
interface Report {
  readonly cluster: string
  readonly losses: readonly ClusterLoss[]
  readonly error?: string
}

/** `understudy losses`: lists the log entries that former primaries discarded when they followed their successors. */
export const lossesCommand = (output: Output): Command =>
  new TypedCommand('losses')
    .description('list the log entries that failovers lost')
    .argument('[cluster]', 'former primary (default: all clusters)')
    .lab()
    .json()
    .examples('losses', 'losses A --name drill --json')
    .run(async (flags, cluster: string | undefined) => {
      await using lab = openLab(flags.name, thisHost())
      const names = cluster === undefined ? lab.clusters.map(({ name }) => name) : [lab.cluster(cluster).name]
      const reports = await Promise.all(names.map((name) => report(lab, name)))
      const dataOf = (name: string) => findDataDirectory(lab.cluster(name))
      output.data(flags.json ? JSON.stringify(reports, undefined, 2) : describe(reports, dataOf))
      const unknown = reports.flatMap(({ cluster: name, error }) => (error === undefined ? [] : [`${name}: ${error}`]))
      if (unknown.length > 0) throw new LabError('remote', `cannot read all losses: ${unknown.join('; ')}`)
    })

const report = async (lab: LiveLab, cluster: string): Promise<Report> => {
  try {
    return { cluster, losses: await readLosses(lab.anonymous(cluster)) }
  } catch (error) {
    return { cluster, losses: [], error: messageOf(error) }
  }
}

const HEADER = ['cluster', 'entry', 'operation', 'path']
const CREDENTIAL_WORDS = { token: 'token', secret_id: 'SecretID' } as const

const findDataDirectory = (cluster: ClusterAccess): string | undefined =>
  'dataDir' in cluster ? String(cluster.dataDir) : undefined

/** Returns notes about the stored log frames, and about deletions and credentials among the lost entries. */
const describeRemains = ({ cluster, losses }: Report, dataDirectory = 'its data directory'): readonly string[] => {
  if (losses.length === 0) return []
  const deletions = losses.flatMap(({ entries }) => entries.filter(({ operation }) => operation === 'delete')).length
  const restored = describeRestored(restoredBy(losses))
  const beyond = losses.reduce((sum, { framesBeyond }) => sum + framesBeyond, 0)
  return [
    `${cluster} keeps the encrypted log frames of these entries in ${dataDirectory} below core/losses/. No command reads them.`,
    ...(beyond > 0 ? [`${cluster} did not keep ${counted(beyond, 'more log frame')}, because of the size.`] : []),
    ...(deletions > 0
      ? [`The losses include ${counted(deletions, 'deletion')}: the new primary still has the deleted data.`]
      : []),
    ...(restored === ''
      ? []
      : [`Credentials that came back: ${restored}. They are valid on the new primary: revoke them there.`]),
  ]
}

const describe = (reports: readonly Report[], dataOf: (cluster: string) => string | undefined): string => {
  const lines = reports.flatMap(({ cluster, losses, error }) => {
    if (error !== undefined) return []
    const total = countLost(losses)
    const reasons = [...new Set(losses.map(({ reason }) => reason))].join(', ')
    return [`${cluster}: ${describeEntries(total)} lost${total === 0 ? '' : ` (${reasons})`}`]
  })
  const rows = reports.flatMap(({ cluster, losses }) =>
    losses.flatMap(({ entries, entriesBeyond }) => [
      ...entries.map(({ index, path, operation, credential }) => [
        cluster,
        String(index),
        credential ? `${operation} (${CREDENTIAL_WORDS[credential]} came back)` : operation,
        path || 'hidden',
      ]),
      ...(entriesBeyond > 0 ? [[cluster, '', '', `not listed: ${counted(entriesBeyond, 'more operation')}`]] : []),
    ]),
  )
  const remains = reports.flatMap((one) => describeRemains(one, dataOf(one.cluster)))
  const table = rows.length > 0 ? ['', formatTable([HEADER, ...rows])] : []
  return [...lines, ...table, ...(remains.length > 0 ? ['', ...remains] : [])].join('\n')
}
