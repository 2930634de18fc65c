import { textsOfJson } from '../../base/json-print.js'
import { readNamedText } from '../../base/named-file.js'
import type { ClusterAccess } from '../model/cluster.js'
import { KIND_WORDS, type Kind } from '../model/kinds.js'
import { LabError } from '../model/lab-error.js'
import { askNodes, type ClusterOfNodes, findActive } from '../nodes/nodes.js'
import { filterPath } from '../requests/filters.js'
import { idOf, REPLICATION, wrappedTokenIn } from '../requests/replication.js'
import { isFollower, type ReplicationStatus } from '../requests/replication-status.js'
import { stepLineOf } from './lines.js'
import { refuseCutLink } from './preflight.js'
import type { Runbook } from './runbook.js'

/** The single role changes of operations: each sends one request, and waits for its effect. */

interface PromoteOptions {
  /** A DR operation token. Undefined for performance replication. */
  readonly token?: string | undefined
  readonly isForced: boolean
}

/** Promotes a secondary, with a DR operation token, or with a root token for performance replication. */
export const promote = async (
  runbook: Runbook,
  name: string,
  kind: Kind,
  { token, isForced }: PromoteOptions,
): Promise<void> => {
  const body = { ...(token === undefined ? {} : { dr_operation_token: token }), ...(isForced ? { force: true } : {}) }
  await runbook.write(name, `${REPLICATION}/${kind}/secondary/promote`, body, kind === 'performance')
  runbook.assume(name, kind, 'primary')
  await waitForMode(runbook, `${name} to be the ${KIND_WORDS[kind]} primary`, { cluster: name, kind, value: 'primary' })
}

/** Demotes a primary. Resolves to the warnings of the response, which name the secondaries that lack data. */
export const demote = async (runbook: Runbook, name: string, kind: Kind): Promise<readonly string[]> => {
  const { warnings } = await runbook.write(name, `${REPLICATION}/${kind}/primary/demote`)
  runbook.assume(name, kind, 'secondary')
  await waitForMode(runbook, `${name} to be a secondary`, { cluster: name, kind, value: 'secondary' })
  return textsOfJson(warnings)
}

/** Revokes a registered secondary with this ID, including its filter, so that the same cluster can join again. */
export const freeId = async (runbook: Runbook, primary: string, kind: Kind, id: string): Promise<void> => {
  const { knownSecondaries } = await runbook.status(primary, kind)
  if (knownSecondaries.includes(id))
    await runbook.write(primary, `${REPLICATION}/${kind}/primary/revoke-secondary`, { id })
}

export const activationToken = async (runbook: Runbook, primary: string, kind: Kind, id: string): Promise<string> => {
  const answer = await runbook.write(primary, `${REPLICATION}/${kind}/primary/secondary-token`, { id })
  return runbook.isDryRun ? '<activation token>' : wrappedTokenIn(answer)
}

const waitForMode = (
  runbook: Runbook,
  what: string,
  { cluster, kind, value }: { readonly cluster: string; readonly kind: Kind; readonly value: string },
): Promise<void> => {
  const fact = () => findMissingMode(runbook, cluster, kind, value)
  return runbook.wait(what, fact, { cluster, kind, field: 'mode', value })
}

export const findMissingMode = async (
  runbook: Runbook,
  name: string,
  kind: Kind,
  wanted: string,
): Promise<string | undefined> => {
  const { mode } = await runbook.status(name, kind)
  return mode === wanted ? undefined : `its mode is ${mode}`
}

/** Returns the CA certificate with which a secondary verifies the API of this primary when it unwraps its token. */
export const authorityOf = (runbook: Runbook, primary: string): Record<string, string> => {
  const cluster = runbook.cluster(primary)
  if (cluster.caFile === undefined) return {}
  // The command line reads the file when an operator runs it.
  if (cluster.written) return { ca_cert: `@${cluster.caFile}` }
  // A local server can read the file. An external server may run on another machine.
  return 'dataDir' in cluster ? { ca_file: cluster.caFile } : { ca_cert: readNamedText(cluster.caFile) }
}

/** Makes `secondary` a secondary of `primary`, which erases its data. `filter`: its path filter. */
export const activate = async (
  runbook: Runbook,
  primary: string,
  secondary: string,
  kind: Kind,
  filter?: { readonly mode: 'allow' | 'deny'; readonly paths: string },
): Promise<void> => {
  runbook.requireTwo(primary, secondary)
  const id = idOf(kind, secondary)
  await refuseReplicating(runbook, secondary, kind)
  await refuseCutLink(runbook, secondary, primary)
  const { mode } = await requireNoSecondary(runbook, primary, kind)
  await runbook.confirmErase(`${secondary} loses all its data, and receives a copy of the data of ${primary}`)
  if (mode !== 'primary') await runbook.write(primary, `${REPLICATION}/${kind}/primary/enable`)
  await waitForMode(runbook, `${primary} to be a ${kind} primary`, { cluster: primary, kind, value: 'primary' })
  await freeId(runbook, primary, kind, id)
  if (filter) await runbook.write(primary, filterPath(id), filter)
  const token = await activationToken(runbook, primary, kind, id)
  await runbook.write(secondary, `${REPLICATION}/${kind}/secondary/enable`, { token, ...authorityOf(runbook, primary) })
  const lag = () => runbook.findLag(primary, secondary, kind)
  await runbook.wait(`${secondary} to follow ${primary}`, lag, { cluster: secondary, kind, primary })
  runbook.say(`${secondary} is a ${kind} secondary of ${primary} and replicated`)
}

/** Rejects before any change if the cluster already replicates: activation would revoke the registration of its ID. */
const refuseReplicating = async (runbook: Runbook, name: string, kind: Kind): Promise<void> => {
  const other = kind === 'dr' ? 'performance' : 'dr'
  const role = (status: ReplicationStatus) => (isFollower(status) ? 'secondary' : status.mode)
  const others = role(await runbook.status(name, other))
  if (others === 'primary' || others === 'secondary')
    throw new LabError(
      'remote',
      `${name} is a ${KIND_WORDS[other]} ${others}, and can join another replication set only after this replication is disabled`,
    )
  const mode = role(await runbook.status(name, kind))
  if (mode !== 'primary' && mode !== 'secondary') return
  const disable = { method: 'PUT', path: `${REPLICATION}/${kind}/${mode}/disable` }
  throw new LabError(
    'remote',
    `${name} is already a ${kind} ${mode}; disable it first: ${stepLineOf(disable, runbook.cluster(name))}`,
  )
}

/** Resolves to the status of a cluster. Rejects if it is a secondary, which cannot be a primary of this kind. */
const requireNoSecondary = async (runbook: Runbook, name: string, kind: Kind): Promise<ReplicationStatus> => {
  const status = await runbook.status(name, kind)
  const own = isFollower(status) ? kind : isFollower(await runbook.status(name, 'dr')) ? 'dr' : undefined
  if (own === undefined) return status
  throw new LabError(
    'remote',
    `${name} is a ${KIND_WORDS[own]} secondary, and cannot be a ${KIND_WORDS[kind]} primary: promote it, or name its primary`,
  )
}

/** Makes the active node step down, and waits for another active node. Rejects if the cluster has one server. */
export const stepDown = async (runbook: Runbook, cluster: ClusterAccess & ClusterOfNodes): Promise<void> => {
  const { name } = cluster
  if (!cluster.nodes) throw new LabError('usage', `cluster ${name} has one server: no other node can become active`)
  const { active: before, candidates } = await askNodes(cluster)
  if (!before) throw new LabError('remote', `cluster ${name} has no active node`)
  if (candidates.length < 2)
    throw new LabError('remote', `no other node of ${name} can become active: start or unseal one of them first`)
  await runbook.write(name, 'sys/step-down')
  let after = before
  await runbook.wait(`another node of ${name} to be active`, async () => {
    after = (await findActive(cluster)) ?? before
    return after.name === before.name ? `${before.name} is still active, or no node is active` : undefined
  })
  runbook.say(`node ${after.name} is active, and ${before.name} is a standby`)
}
