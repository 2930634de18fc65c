import { counted } from '../../../base/counted.js'
import type { Command } from 'commander'
import type { LiveLab } from '../../../lab/live/live-lab.js'
import { openLab } from '../../../lab/live/open-lab.js'
import type { ClusterAccess } from '../../../lab/model/cluster.js'
import { LabError } from '../../../lab/model/lab-error.js'
import { operationFor } from '../../../lab/operations/readers.js'
import { thisHost } from '../../../lab/processes/lab-host.js'
import {
  type ClusterLoss,
  countLost,
  describeEntries,
  describeRestored,
  explainUnknown,
  type LossLists,
  readLossLists,
  restoredBy,
  unlistedLosses,
} from '../../../lab/requests/losses.js'
import { askReplaced, type Replaced } from '../../../lab/status/replaced.js'
import { TypedCommand } from '../../terminal/command.js'
import { formatTable, type Output } from '../../terminal/output.js'

/**
 * The losses of one cluster. `error`: why they could not be read. `rejoin`: the command after which a former primary
 * lists what its last failover lost.
 */
interface Report extends LossLists {
  readonly cluster: string
  readonly error?: string
  readonly rejoin?: string
}

/**
 * `understudy losses`: lists the log entries that clusters discarded when they followed another primary, and those that
 * they still have although their primary has lost them.
 */
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
      const replaced = await askReplaced(lab)
      const reports = await Promise.all(
        names.map(async (name) => ({ ...(await report(lab, name)), ...rejoinOf(lab, replaced, name) })),
      )
      const dataOf = (name: string) => findDataDirectory(lab.cluster(name))
      const known = reports.map((one) => ({ known: isKnown(one), ...one }))
      output.data(flags.json ? JSON.stringify(known, undefined, 2) : describe(reports, dataOf))
      const unknown = reports.filter((one) => !isKnown(one)).map((one) => one.cluster)
      if (unknown.length > 0)
        throw new LabError('remote', `the losses of ${unknown.join(' and ')} are not known: the reasons are above`)
    })

const rejoinOf = (lab: LiveLab, replaced: readonly Replaced[], cluster: string): Pick<Report, 'rejoin'> => {
  const found = replaced.find(({ name }) => name === cluster)
  if (!found) return {}
  const { successor, kind } = found
  return { rejoin: operationFor('command', lab.name, { verb: 'rejoin', clusters: [cluster, successor], kind }) }
}

const isKnown = ({ error, rejoin }: Report): boolean => error === undefined && rejoin === undefined

const describeUnknown = ({ error, rejoin }: Report): string =>
  error ?? `the loss of the last failover is not known yet; to list it, first run: ${rejoin}`

const report = async (lab: LiveLab, cluster: string): Promise<Report> => {
  try {
    return { cluster, ...(await readLossLists(lab.anonymous(cluster))) }
  } catch (error) {
    return { cluster, losses: [], held: [], error: explainUnknown(error, lab.name, cluster) }
  }
}

const HEADER = ['cluster', 'entry', 'operation', 'path', 'state']
const CREDENTIAL_WORDS = { token: 'token', secret_id: 'SecretID' } as const

const findDataDirectory = (cluster: ClusterAccess): string | undefined =>
  'dataDir' in cluster ? String(cluster.dataDir) : undefined

/** Returns notes about incomplete lists, stored log frames, lost deletions, and credentials that came back. */
const describeNotes = ({ cluster, losses, held }: Report, dataDirectory = 'its data directory'): readonly string[] => {
  const unlisted = unlistedLosses(losses)
  const notes = [
    ...unlisted.map(
      (loss) =>
        `${cluster} has no list of the lost log entries${describeRange(loss)}: ${loss.reason}. The former primary lists these entries when it follows its successor. A performance primary still has the shared data of its secondaries.`,
    ),
    ...unlistedLosses(held).map(
      (loss) => `${cluster} has no list of the held log entries${describeRange(loss)}: ${loss.reason}.`,
    ),
    ...(held.length > 0
      ? [`${cluster} still has the held log entries: promotion keeps them, and "recover" with "force" discards them.`]
      : []),
  ]
  if (losses.length === unlisted.length) return notes
  const deletions = losses.flatMap(({ entries }) => entries.filter(({ operation }) => operation === 'delete')).length
  const restored = describeRestored(restoredBy(losses))
  const beyond = losses.reduce((sum, { framesBeyond }) => sum + framesBeyond, 0)
  return [
    ...notes,
    `${cluster} keeps the encrypted log frames of these entries in ${dataDirectory} below core/losses/. No command reads them.`,
    ...(beyond > 0
      ? [`${cluster} did not keep ${counted(beyond, 'more log frame')}: the size limit was reached.`]
      : []),
    ...(deletions > 0
      ? [`The losses include ${counted(deletions, 'deletion')}: the new primary still has the deleted data.`]
      : []),
    ...(restored === ''
      ? []
      : [`Credentials that came back: ${restored}. They are valid on the new primary: revoke them there.`]),
  ]
}

/** Returns the range of lost entries, for example ` between 41 and 60`. Empty if the range is unknown. */
const describeRange = ({ firstIndex, lastIndex }: ClusterLoss): string =>
  firstIndex > lastIndex ? '' : ` between ${firstIndex} and ${lastIndex}`

/**
 * Returns the number and the reasons, for example `3 log entries lost (not replicated before the failover)`. Also
 * states the number of operations if it differs, because the table has a row for each.
 */
const describeTotal = (losses: readonly ClusterLoss[], word: string): string => {
  const total = countLost(losses)
  const operations = losses.reduce((sum, { entries, entriesBeyond }) => sum + entries.length + entriesBeyond, 0)
  const reasons = [...new Set(losses.map(({ reason }) => reason))].join(', ')
  const more = operations === total ? reasons : `${counted(operations, 'operation')}; ${reasons}`
  return `${describeEntries(total)} ${word}${total === 0 ? '' : ` (${more})`}`
}

const toRows = (cluster: string, { entries, entriesBeyond }: ClusterLoss, state: string): readonly string[][] => [
  ...entries.map(({ index, path, operation, credential }) => [
    cluster,
    String(index),
    credential ? `${operation} (${CREDENTIAL_WORDS[credential]} came back)` : operation,
    path || 'hidden',
    state,
  ]),
  ...(entriesBeyond > 0 ? [[cluster, '', '', `not listed: ${counted(entriesBeyond, 'more operation')}`, state]] : []),
]

/** Returns the lists as text. `dataOf`: the data directory of a cluster, if it is known. */
export const describe = (reports: readonly Report[], dataOf: (cluster: string) => string | undefined): string => {
  const lines = reports.map((one) => {
    const { cluster, losses, held, error, rejoin } = one
    if (error !== undefined) return `${cluster}: unknown (${error})`
    const totals = [
      ...(rejoin === undefined || losses.length > 0 ? [describeTotal(losses, 'lost')] : []),
      ...(rejoin === undefined ? [] : [describeUnknown(one)]),
      ...(held.length === 0 ? [] : [describeTotal(held, 'held')]),
    ]
    return `${cluster}: ${totals.join(', ')}`
  })
  const rows = reports.flatMap(({ cluster, losses, held }) => [
    ...losses.flatMap((loss) => toRows(cluster, loss, 'lost')),
    ...held.flatMap((loss) => toRows(cluster, loss, 'held')),
  ])
  const notes = reports.flatMap((one) => describeNotes(one, dataOf(one.cluster)))
  const table = rows.length > 0 ? ['', formatTable([HEADER, ...rows])] : []
  return [...lines, ...table, ...(notes.length > 0 ? ['', ...notes] : [])].join('\n')
}
