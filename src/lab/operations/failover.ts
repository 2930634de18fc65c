import { ApiError } from '../../client/api-client.js'
import { LabError } from '../model/lab-error.js'
import { type AcceptedLoss, describeLoss, isAccepted, isLevel } from '../requests/expected-loss.js'
import { isDetached, NO_STATUS, type ReplicationStatus } from '../requests/replication-status.js'
import { findCut, handOver, operationToken } from './operations.js'
import { ask, askOthers, refuseAhead, requireFollower, requireMode } from './preflight.js'
import { promote } from './role-changes.js'
import type { Runbook } from './runbook.js'

/** A failover. `lost`: the primary that the operator considers lost. `to`: its DR secondary. */
interface Failover {
  readonly lost: string
  readonly to: string
  readonly acceptLoss: AcceptedLoss
}

/**
 * Fails over to the DR secondary of a lost primary. If the primary is still running, demotes it first, so that there
 * are never two primaries. If the primary is down, rejects unless the secondary is known to lack at most `acceptLoss`
 * log entries. With `isForced`, does not change the primary, and promotes the secondary even if it may lack data.
 * Resolves to true if the cluster `lost` was a running primary.
 */
export const failOver = async (
  runbook: Runbook,
  { isForced, ...failover }: Failover & { readonly isForced: boolean },
): Promise<boolean> => {
  const { lost, to } = failover
  runbook.requireTwo(lost, to)
  await requireMode(runbook, to, 'dr', 'secondary')
  const ours = await ask(runbook, lost, 'dr')
  const running = ours.mode === 'primary' ? lost : await findOtherPrimary(runbook, lost, to)
  const isPlanned = running !== undefined && !isForced
  const mayLose = running === undefined && !isForced && (await refuseLoss(runbook, ours, failover))
  if (isPlanned) {
    await requirePlannable(runbook, running, lost, to)
    runbook.announce(
      `${lost} is running, so this is a planned failover without data loss: ${lost} is demoted first, then ${to} is promoted`,
    )
    await handOver(runbook, { from: lost, to, kind: 'dr' })
    return true
  }
  // Generated before the warning about two primaries, because this fails if the lab has no matching key shares.
  const token = await operationToken(runbook, to)
  if (running !== undefined)
    runbook.announce(
      `WARNING: ${running} is running and stays a DR primary, so there are two primaries; when ${running} rejoins ${to}, its later writes are lost`,
    )
  if (mayLose) await promoteWithLoss(runbook, to, token)
  else await promote(runbook, to, 'dr', { token, isForced })
  runbook.say(`${to} is the DR primary now`)
  return running === lost
}

/** Finds another running DR primary in the replication set of `to`. */
const findOtherPrimary = async (runbook: Runbook, lost: string, to: string): Promise<string | undefined> => {
  const { clusterId: set } = await runbook.status(to, 'dr')
  if (set === '') return undefined
  const others = await askOthers(runbook, [lost, to], 'dr')
  return others.find(({ mode, clusterId }) => mode === 'primary' && clusterId === set)?.name
}

/** Rejects if the promotion may lose more than is accepted. Resolves to true if it may lose anything. */
const refuseLoss = async (runbook: Runbook, ours: ReplicationStatus, failover: Failover): Promise<boolean> => {
  const { lost, to, acceptLoss } = failover
  const theirs = await runbook.status(to, 'dr')
  if (ours.mode === NO_STATUS.mode) return requireAccepted(runbook, failover)
  const isSameSet = theirs.clusterId === ours.clusterId
  const isFormerPair = isSameSet && !isDetached(ours) && isDetached(theirs)
  if (isFormerPair && (await runbook.isInLastEpochOf(lost, to))) return false
  const isFormerPrimary = isDetached(ours) && isSameSet
  if (!isFormerPrimary && acceptLoss !== 'any')
    throw new LabError(
      'remote',
      `${lost} is running and not the former DR primary of ${to}, so writes of the lost primary may be missing: name the lost primary, or ${runbook.optionNames.acceptLoss('any')}`,
    )
  // A demoted, running primary reports whether its secondary lacks data only when it is demoted.
  if (isFormerPrimary && theirs.merkleRoot === ours.merkleRoot) return false
  if (acceptLoss === 'any') return true
  throw new LabError(
    'remote',
    `${lost} is running as a demoted cluster, and its data differs from the data of ${to}, so writes may be lost: "${runbook.line({ verb: 'failover', clusters: [to, lost] })}" promotes ${lost} again, ${runbook.optionNames.force} promotes ${to}`,
  )
}

/** Checks the loss of a failover from a primary that is down. Rejects and resolves like `refuseLoss`. */
const requireAccepted = async (runbook: Runbook, { lost, to, acceptLoss }: Failover): Promise<boolean> => {
  const loss = await runbook.expectedLoss(lost, to)
  if (isLevel(loss)) return false
  const { silentSeconds, isExact, entries } = loss
  const heartbeat = silentSeconds === null ? 'unknown' : `${silentSeconds} s ago`
  const found = `${lost} is down, and a failover to ${to} ${describeLoss(loss)} (last heartbeat from ${lost}: ${heartbeat})`
  if (!isAccepted(loss, acceptLoss))
    throw new LabError(
      'remote',
      `${found}. Start ${lost} again, or ${runbook.optionNames.acceptLoss(isExact ? entries : 'any')}`,
    )
  runbook.announce(found)
  return true
}

/** Promotes a secondary. Forces the promotion only if the secondary rejects it because it lacks data. */
const promoteWithLoss = async (runbook: Runbook, to: string, token: string): Promise<void> => {
  try {
    await promote(runbook, to, 'dr', { token, isForced: false })
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 503)) throw error
    await promote(runbook, to, 'dr', { token: await operationToken(runbook, to), isForced: true })
  }
}

/** Rejects if the operator named another primary, or if `to` does not stream: a demotion would then lose writes. */
const requirePlannable = async (runbook: Runbook, running: string, lost: string, to: string): Promise<void> => {
  if (running !== lost)
    throw new LabError(
      'remote',
      `the DR primary of ${to} is ${running}, not ${lost}, and ${running} is running: use "${runbook.line({ verb: 'failover', clusters: [running, to] })}"`,
    )
  await refuseAhead(runbook, lost, to, 'dr')
  await requireFollower(runbook, lost, to, 'dr')
  const cut = await findCut(runbook, lost, to, 'dr')
  if (cut !== undefined)
    throw new LabError(
      'remote',
      `${lost} is a running DR primary, but ${to} does not stream from it (${cut}): fix the link between ${lost} and ${to} first, or use ${runbook.optionNames.force}, which leaves two primaries and discards writes that ${to} has not received`,
    )
}
