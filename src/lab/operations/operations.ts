import { ApiError } from '../../client/api-client.js'
import { LabError } from '../model/lab-error.js'
import { describeLoss, expectedLoss } from '../requests/expected-loss.js'
import { countLost, describeEntries, describePaths, newLosses } from '../requests/losses.js'
import { generateOperationToken, idOf, OPERATION_TOKEN, REPLICATION } from '../requests/replication.js'
import {
  describeMode,
  findStreamProblem,
  isDetached,
  NO_STATUS,
  type ReplicationStatus,
} from '../requests/replication-status.js'
import { type Failover, requireAccepted } from './accept-loss.js'
import { DECODE_TOKEN, GENERATE_OTP } from './procedure-steps.js'
import { activationToken, authorityOf, demote, freeId, promote } from './role-changes.js'
import type { Runbook } from './runbook.js'

/**
 * Operations on a replicated lab that are error-prone by hand. Each sends several requests in the right order, and waits for the
 * condition that the next request needs.
 */

/** Generates a one-time DR operation token from the key shares of the lab. */
export const operationToken = async (runbook: Runbook, name: string): Promise<string> => {
  const write = (path: string, body?: Readonly<Record<string, string>>) => runbook.write(name, path, body, false)
  if (runbook.isDryRun) {
    await requireDr(runbook, name, 'secondary')
    await runbook.show(name, GENERATE_OTP)
    await write(`${OPERATION_TOKEN}/attempt`)
    const [{ threshold } = runbook.cluster(name)] = runbook.keysFor(name)
    for (let share = 1; share <= threshold; share += 1)
      await write(`${OPERATION_TOKEN}/update`, { nonce: '<nonce>', key: `key share ${share} of ${threshold}` })
    await runbook.show(name, DECODE_TOKEN)
    return '<operation token>'
  }
  for (const { unsealKeys, threshold } of runbook.keysFor(name)) {
    await runbook.show(name, GENERATE_OTP)
    const token = await generateOperationToken(write, unsealKeys.slice(0, threshold))
    if (token !== undefined) {
      await runbook.show(name, DECODE_TOKEN)
      return token
    }
    await cancelAttempt(runbook, name)
  }
  await requireDr(runbook, name, 'secondary')
  throw new LabError('remote', `no key shares of the lab generate an operation token on ${name}`)
}

/** Cancels a token generation that the shares did not complete: the shares of another cluster, or too few, leave it open. */
const cancelAttempt = async (runbook: Runbook, name: string): Promise<void> => {
  try {
    await runbook.call({ cluster: name, method: 'DELETE', path: `${OPERATION_TOKEN}/attempt` })
  } catch (error) {
    // A cluster that is not a DR secondary rejects this request as it rejected the attempt.
    if (!(error instanceof ApiError)) throw error
  }
}

/** Throws before any change if a cluster does not have this role: a wrong one could leave the lab without a primary. */
const requireDr = async (runbook: Runbook, name: string, mode: 'primary' | 'secondary'): Promise<void> => {
  const status = await runbook.status(name, 'dr')
  if (status.mode === mode) return
  const own = describeMode(status)
  const text = own === 'primary' || own === 'secondary' ? `it is a DR ${own}` : `its DR replication is ${own}`
  throw new LabError('remote', `${name} is not a DR ${mode}: ${text}`)
}

/**
 * Fails over to the DR secondary of a lost primary. If the primary is still running, demotes it first, so that there are never
 * two. If it is down, rejects unless the secondary is known to lack at most `acceptLoss` log entries. With `isForced`, does not
 * touch the primary, and promotes the secondary even if it may lack data. Resolves with whether the supposedly lost cluster is a
 * running primary.
 */
export const failOver = async (
  runbook: Runbook,
  { isForced, ...failover }: Failover & { readonly isForced: boolean },
): Promise<boolean> => {
  const { lost, to } = failover
  runbook.requireTwo(lost, to)
  const ours = await ask(runbook, lost)
  const living = ours.mode === 'primary' ? lost : await findOtherPrimary(runbook, lost, to)
  const isPlanned = living !== undefined && !isForced
  const mayLose = living === undefined && !isForced && (await refuseLoss(runbook, ours, failover))
  if (isPlanned) await requirePlannable(runbook, living, lost, to)
  else if (living !== undefined)
    runbook.announce(
      `WARNING: ${living} is running and stays a DR primary, so there are two primaries; when ${living} rejoins ${to}, its later writes are lost`,
    )
  const token = await operationToken(runbook, to)
  if (isPlanned) {
    runbook.announce(
      `${lost} is running, so this is a planned failover without data loss: ${lost} is demoted first, then ${to} is promoted`,
    )
    await handOver(runbook, lost, to, token)
  } else if (mayLose) await promoteWithLoss(runbook, to, token)
  else await promote(runbook, to, 'dr', { token, isForced })
  runbook.say(`${to} is the DR primary now`)
  return living === lost
}

/** A cluster that does not respond within this time counts as lost. */
const REACHABLE_MS = 2000

const ask = (runbook: Runbook, name: string): Promise<ReplicationStatus> =>
  runbook.status(name, 'dr', REACHABLE_MS).catch(() => NO_STATUS)

/** Finds another running DR primary in the replication set of `to`. */
const findOtherPrimary = async (runbook: Runbook, lost: string, to: string): Promise<string | undefined> => {
  const { clusterId: set } = await runbook.status(to, 'dr')
  if (set === '') return undefined
  const others = runbook.lab.clusters.map(({ name }) => name).filter((name) => name !== lost && name !== to)
  const statuses = await Promise.all(others.map((name) => ask(runbook, name)))
  return others.find((_, at) => statuses[at]?.mode === 'primary' && statuses[at].clusterId === set)
}

/** Rejects if the promotion may lose more than is accepted. Resolves with whether it may lose anything. */
const refuseLoss = async (runbook: Runbook, ours: ReplicationStatus, failover: Failover): Promise<boolean> => {
  const { lost, to, acceptLoss } = failover
  if (ours.mode === NO_STATUS.mode) {
    await requireDr(runbook, to, 'secondary')
    return requireAccepted(runbook, failover)
  }
  // A demoted, running primary reports whether its secondary lacks data only when it is demoted.
  if (!isDetached(ours)) return false
  const theirs = await runbook.status(to, 'dr')
  if (theirs.clusterId !== ours.clusterId || theirs.merkleRoot === ours.merkleRoot) return false
  if (acceptLoss === 'any') return true
  throw new LabError(
    'remote',
    `${lost} is running as a demoted cluster, and its data differs from the data of ${to}, so writes may be lost: "${runbook.line(`failover ${to} ${lost}`)}" promotes ${lost} again, --force promotes ${to}`,
  )
}

/** Promotes a secondary. Uses force only if the secondary itself reports that it lacks data. */
const promoteWithLoss = async (runbook: Runbook, to: string, token: string): Promise<void> => {
  try {
    await promote(runbook, to, 'dr', { token, isForced: false })
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 503)) throw error
    await promote(runbook, to, 'dr', { token: await operationToken(runbook, to), isForced: true })
  }
}

/** Rejects if the secondary is disconnected: a demotion would lose writes. Two primaries must be requested explicitly. */
const requirePlannable = async (runbook: Runbook, living: string, lost: string, to: string): Promise<void> => {
  if (living !== lost)
    throw new LabError(
      'remote',
      `the DR primary of ${to} is ${living}, not ${lost}, and ${living} is running: use "${runbook.line(`failover ${living} ${to}`)}"`,
    )
  await requireDr(runbook, to, 'secondary')
  const cut = await findCut(runbook, lost, to)
  if (cut !== undefined)
    throw new LabError(
      'remote',
      `${lost} is a running DR primary, but ${to} does not stream from it (${cut}): fix the link between ${lost} and ${to} first, or use --force, which leaves two primaries and discards writes that ${to} has not received`,
    )
}

/** Switches the roles of a healthy primary and its DR secondary without data loss. */
export const switchOver = async (runbook: Runbook, from: string, to: string): Promise<void> => {
  runbook.requireTwo(from, to)
  await requireDr(runbook, to, 'secondary')
  await requireDr(runbook, from, 'primary')
  const token = await operationToken(runbook, to)
  // A demotion drains only to connected secondaries, so data could be lost without a connection.
  const check = { cluster: to, kind: 'dr', field: 'state', value: 'stream-wals' } as const
  await runbook.need(`${to} to stream from ${from}`, () => findCut(runbook, from, to), check)
  await handOver(runbook, from, to, token)
  runbook.say(`${to} is the DR primary now`)
  await follow(runbook, from, to).catch((error: unknown) => {
    runbook.announce(`${from} does not follow ${to} yet; to retry: ${runbook.line(`rejoin ${from} ${to}`)}`)
    throw error
  })
}

/**
 * Demotes one cluster and promotes the other. Between the two steps there is no primary, and an error at that point says so. A
 * secondary that lacks data is not promoted. Only the demotion shows that reliably.
 */
const handOver = async (runbook: Runbook, from: string, to: string, token: string): Promise<void> => {
  const { secondaryId } = await runbook.status(to, 'dr')
  const isOfIt = (text: string) => secondaryId === '' || text.includes(`"${secondaryId}"`)
  const shortfall = (await demote(runbook, from, 'dr')).find((text) => SHORTFALL.test(text) && isOfIt(text))
  if (shortfall !== undefined) return takeBack(runbook, from, to, shortfall)
  await promote(runbook, to, 'dr', { token, isForced: false }).catch((error: unknown) => {
    runbook.announce(
      `${from} is demoted, and ${to} may not be promoted; to promote ${from} again: ${runbook.line(`failover ${to} ${from}`)}`,
    )
    throw error
  })
}

/** The warning of a demotion that names secondaries with missing data. */
const SHORTFALL = /^Not every secondary has everything/

/** Promotes the demoted primary again if the secondary lacks data, so that nothing is lost. Always rejects. */
const takeBack = async (runbook: Runbook, from: string, to: string, shortfall: string): Promise<never> => {
  const token = await operationToken(runbook, from)
  await promote(runbook, from, 'dr', { token, isForced: false })
  throw new LabError(
    'remote',
    `${to} was not promoted, because writes would be lost; ${from} is the DR primary again; to make ${to} follow it: ${runbook.line(`rejoin ${to} ${from}`)}. Warning of ${from}: ${shortfall}`,
  )
}

/** Returns why a DR secondary does not receive its primary's writes. Undefined if it does. */
const findCut = async (runbook: Runbook, primary: string, secondary: string): Promise<string | undefined> => {
  const ours = await runbook.status(primary, 'dr')
  const theirs = await runbook.status(secondary, 'dr')
  if (ours.mode !== 'primary') return `the DR replication of ${primary} is ${ours.mode}`
  if (theirs.clusterId !== ours.clusterId) return 'they belong to different replication sets'
  const problem = findStreamProblem(theirs)
  const last = { set: ours.clusterId, lastWal: ours.lastKindWal, isFinal: false }
  const loss = expectedLoss({ secondary: theirs, announced: 0, last, nowMs: 0 })
  return problem && `${problem}; a failover ${describeLoss(loss)}`
}

/** Makes a former primary that is back after a failover a secondary of its successor. */
export const rejoin = async (runbook: Runbook, name: string, primary: string): Promise<void> => {
  runbook.requireTwo(name, primary)
  const { mode } = await runbook.status(name, 'dr')
  await requireDr(runbook, primary, 'primary')
  if (mode === 'primary') await demote(runbook, name, 'dr')
  const before = await runbook.losses(name)
  await follow(runbook, name, primary)
  const losses = newLosses(before, await runbook.losses(name))
  if (losses.length === 0) return
  const lost = describeEntries(countLost(losses)) + describePaths(losses)
  await runbook.note(
    name,
    `${name} discarded ${lost} that ${primary} does not have; to list them: ${runbook.line(`losses ${name}`)}`,
  )
}

const follow = async (runbook: Runbook, name: string, primary: string): Promise<void> => {
  const operation = await operationToken(runbook, name)
  const id = idOf('dr', name)
  await freeId(runbook, primary, 'dr', id)
  const token = await activationToken(runbook, primary, 'dr', id)
  const body = { dr_operation_token: operation, token, ...authorityOf(runbook, primary) }
  await runbook.write(name, `${REPLICATION}/dr/secondary/update-primary`, body, false)
  const check = { cluster: name, kind: 'dr', primary } as const
  await runbook.wait(`${name} to follow ${primary}`, () => runbook.findLag(primary, name, 'dr'), check)
  runbook.say(`${name} is a DR secondary of ${primary} and replicated`)
}
