import { KIND_WORDS, type Kind } from '../model/kinds.js'
import { LabError } from '../model/lab-error.js'
import type { Shares } from '../keys/environment.js'
import { REPLICATION } from '../requests/replication.js'
import { AHEAD_FIXES, describeMode, NO_STATUS, type ReplicationStatus } from '../requests/replication-status.js'
import type { Runbook } from './runbook.js'

/** Checks before the first change: an operation that fails halfway could leave a replication set without a primary. */

/** A cluster that does not respond within this time counts as lost. */
const REACHABLE_MS = 2000

/** Returns the status of a cluster. Its mode is `-` if the cluster does not respond. */
export const ask = (runbook: Runbook, name: string, kind: Kind): Promise<ReplicationStatus> =>
  runbook.status(name, kind, REACHABLE_MS).catch(() => NO_STATUS)

/** Returns the statuses of all clusters except these, like `ask`. */
export const askOthers = (
  runbook: Runbook,
  except: readonly string[],
  kind: Kind,
): Promise<readonly (ReplicationStatus & { readonly name: string })[]> =>
  Promise.all(
    runbook.lab.clusters
      .filter(({ name }) => !except.includes(name))
      .map(async ({ name }) => ({ name, ...(await ask(runbook, name, kind)) })),
  )

/** Resolves to the status of a cluster. Rejects unless the cluster has this role. */
export const requireMode = async (
  runbook: Runbook,
  name: string,
  kind: Kind,
  mode: 'primary' | 'secondary',
): Promise<ReplicationStatus> => {
  const status = await runbook.status(name, kind)
  if (status.mode === mode) return status
  const own = describeMode(status)
  const word = KIND_WORDS[kind]
  const text = own === 'primary' || own === 'secondary' ? `it is a ${word} ${own}` : `its ${word} replication is ${own}`
  throw new LabError('remote', `${name} is not a ${word} ${mode}: ${text}`)
}

/**
 * Resolves to the statuses of two clusters. Rejects unless they belong to one replication set, because a token of one
 * set is invalid in another set.
 */
export const requireSameSet = async (
  runbook: Runbook,
  name: string,
  other: string,
  kind: Kind,
): Promise<readonly [ReplicationStatus, ReplicationStatus]> => {
  const ours = await runbook.status(name, kind)
  if (ours.mode === 'disabled') await requireMode(runbook, name, kind, 'secondary')
  const theirs = await runbook.status(other, kind)
  if (ours.clusterId === theirs.clusterId) return [ours, theirs]
  throw new LabError('remote', `${name} and ${other} belong to different ${KIND_WORDS[kind]} replication sets`)
}

/** Rejects unless the primary has registered the cluster as its secondary: waiting would not help. */
export const requireFollower = async (
  runbook: Runbook,
  primary: string,
  secondary: string,
  kind: Kind,
): Promise<void> => {
  const [{ secondaryId }, { knownSecondaries }] = await requireSameSet(runbook, secondary, primary, kind)
  if (knownSecondaries.includes(secondaryId)) return
  throw new LabError(
    'remote',
    `${secondary} does not follow ${primary}; to make it follow: ${rejoinLine(runbook, secondary, primary, kind)}`,
  )
}

/** Returns how to heal the link between two clusters if a fault of the lab cuts it. Undefined if it is not cut. */
export const findCutLink = async (runbook: Runbook, one: string, other: string): Promise<string | undefined> => {
  // A lab without a daemon has no faults.
  const isCut = await runbook.isCut(one, other).catch(() => false)
  const heal = runbook.line({ verb: 'heal', clusters: [one, other] })
  return isCut ? `the link between ${one} and ${other} is cut; to heal it: ${heal}` : undefined
}

/** Rejects if a fault of the lab cuts the link over which a secondary would follow its primary. */
export const refuseCutLink = async (runbook: Runbook, name: string, primary: string): Promise<void> => {
  const cut = await findCutLink(runbook, name, primary)
  if (cut !== undefined) throw new LabError('remote', `${name} cannot follow ${primary}: ${cut}`)
}

/** Rejects if a secondary is ahead of its primary. Such a secondary does not stream until an operator decides. */
export const refuseAhead = async (runbook: Runbook, primary: string, name: string, kind: Kind): Promise<void> => {
  const { isAhead } = await runbook.status(name, kind)
  if (isAhead !== true) return
  const force = { verb: 'promote', clusters: [name], kind, isForced: true, primary } as const
  throw new LabError(
    'remote',
    `${name} is ahead of its ${KIND_WORDS[kind]} primary, which lost entries, so it does not stream: ${AHEAD_FIXES} ("${runbook.line(force)}")`,
  )
}

/** Returns the operation that makes a cluster follow a primary of its set. */
export const rejoinLine = (runbook: Runbook, name: string, primary: string, kind: Kind): string =>
  runbook.line({ verb: 'rejoin', clusters: [name, primary], kind })

/** Rejects if a performance secondary has a path filter: its promotion would fail. */
export const refuseFiltered = async (runbook: Runbook, name: string, primary = 'PRIMARY'): Promise<void> => {
  const { secondaryId } = await runbook.status(name, 'performance')
  if (secondaryId === '') return
  const { data } = await runbook.read(name, `${REPLICATION}/performance/secondary/dynamic-filter/${secondaryId}`)
  if (data)
    throw new LabError(
      'remote',
      `${name} has a path filter and lacks data of its primary: clear the filter first ("${runbook.line({ verb: 'filter clear', clusters: [primary, name] })}"), or use ${runbook.optionNames.force}`,
    )
}

/**
 * Returns key shares of the lab for an operation token. Throws if they are fewer than `required` (0: unknown) or their
 * threshold. For a written runbook, returns only the threshold, because the key holders have the shares.
 */
export const requireShares = (runbook: Runbook, name: string, required = 0): Shares => {
  if (runbook.isWritten) return runbook.cluster(name)
  const isEnough = ({ unsealKeys, threshold }: Shares) => unsealKeys.length >= threshold && threshold >= required
  const found = runbook.keysFor(name).find(isEnough)
  if (found) return found
  throw noShares(name)
}

/** Returns the error if no key shares of the lab can generate an operation token. */
export const noShares = (name: string): LabError =>
  new LabError(
    'remote',
    `no key shares of the lab generate an operation token on ${name}: generate it with the key shares of its primary`,
  )
