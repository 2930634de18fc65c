import { ApiError } from '../../client/api-client.js'
import { LabError } from '../model/lab-error.js'
import { generateOperationToken, modeOf, OPERATION_TOKEN, type Status } from '../requests/replication.js'
import { activationToken, authorityOf, demote, freeId, idOf, promote, REPLICATION } from './role-changes.js'
import type { Runbook } from './runbook.js'

/**
 * The operations on a replicated lab that people get wrong by hand: each is a few calls in the right order, with a wait for
 * the fact that the next one needs.
 */

/** A one-time token that a DR secondary takes for an operation, from the key shares that the lab holds. */
export const operationToken = async (runbook: Runbook, name: string): Promise<string> => {
  const attempt = {
    cluster: name,
    method: 'PUT',
    path: `${OPERATION_TOKEN}/attempt`,
  } as const
  const update = { ...attempt, path: `${OPERATION_TOKEN}/update` }
  if (runbook.isDryRun) {
    await requireDrSecondary(runbook, name)
    await runbook.call(attempt)
    const [{ threshold } = { threshold: 1 }] = runbook.keysFor(name)
    for (let share = 0; share < threshold; share += 1)
      await runbook.call({ ...update, body: { nonce: '<nonce>', key: '<key share>' } })
    await runbook.showDecoding(name)
    return '<operation token>'
  }
  for (const { unsealKeys, threshold } of runbook.keysFor(name)) {
    const token = await generateOperationToken(
      (path, body) => runbook.call({ cluster: name, method: 'PUT', path, ...(body ? { body } : {}) }),
      unsealKeys.slice(0, threshold),
    )
    if (token !== undefined) {
      await runbook.showDecoding(name)
      return token
    }
    await cancelAttempt(runbook, name)
  }
  await requireDrSecondary(runbook, name)
  throw new LabError('remote', `none of the keys that the lab holds makes an operation token on ${name}`)
}

/** Cancels the attempt of a set of shares that made no token: shares of another cluster, or too few, leave it open. */
const cancelAttempt = async (runbook: Runbook, name: string): Promise<void> => {
  try {
    await runbook.call({ cluster: name, method: 'DELETE', path: `${OPERATION_TOKEN}/attempt` })
  } catch (error) {
    // A cluster that is no DR secondary refuses this call as it refused the attempt.
    if (!(error instanceof ApiError)) throw error
  }
}

const requireDrSecondary = async (runbook: Runbook, name: string): Promise<void> => {
  const status = await runbook.status(name, 'dr')
  if (status.mode !== 'secondary')
    throw new LabError('remote', `${name} is not a DR secondary: its DR replication is ${describeMode(status)}`)
}

const describeMode = (status: Status): string => {
  const mode = modeOf(status)
  return mode === 'primary' || mode === 'secondary' ? `that of a ${mode}` : mode
}

/**
 * The primary is lost: its DR secondary takes over. Where the primary is alive after all, that is planned: it is demoted
 * first, so that there are never two. With `isForced` it is left alone, and the secondary takes over also when it may lack
 * something. Resolves with whether the one that is said to be lost was a primary that is alive.
 */
export const failOver = async (
  runbook: Runbook,
  { lost, to, isForced }: { readonly lost: string; readonly to: string; readonly isForced: boolean },
): Promise<boolean> => {
  const ours = await ask(runbook, lost)
  const living = ours.mode === 'primary' ? lost : await findOtherPrimary(runbook, lost, to)
  const isPlanned = living !== undefined && !isForced
  if (living === undefined && !isForced) await refuseLoss(runbook, { lost, ours, to })
  if (isPlanned) await requirePlannable(runbook, { living, lost, to })
  else if (living !== undefined)
    runbook.announce(
      `${living} is alive and stays a DR primary: there are two from now on, and what ${living} takes meanwhile is lost when it follows ${to}`,
    )
  const token = await operationToken(runbook, to)
  if (isPlanned) {
    runbook.announce(
      `${lost} is alive, so this is a planned failover: ${lost} is demoted first and takes no more writes, then ${to} is promoted and nothing is lost`,
    )
    await handOver(runbook, { from: lost, to, token })
  } else await promote(runbook, to, 'dr', { token, isForced })
  runbook.say(`${to} is the DR primary now`)
  return living === lost
}

/** Who does not answer in this time counts as lost. */
const ALIVE_MS = 2000

const ask = (runbook: Runbook, name: string): Promise<Status> =>
  runbook.status(name, 'dr', ALIVE_MS).catch((): Status => ({}))

/** Another DR primary of the replication set of `to` that is alive. */
const findOtherPrimary = async (runbook: Runbook, lost: string, to: string): Promise<string | undefined> => {
  const { cluster_id: set } = await runbook.status(to, 'dr')
  if (set === undefined) return undefined
  const others = runbook.lab.clusters.map(({ name }) => name).filter((name) => name !== lost && name !== to)
  const statuses = await Promise.all(others.map((name) => ask(runbook, name)))
  return others.find((_, at) => statuses[at]?.mode === 'primary' && statuses[at].cluster_id === set)
}

/** A primary that was demoted and is alive may have what its secondary lacks: it says so when it is demoted, and not after. */
const refuseLoss = async (
  runbook: Runbook,
  { lost, ours, to }: { readonly lost: string; readonly ours: Status; readonly to: string },
): Promise<void> => {
  if (ours.mode !== 'secondary' || ours.primary_cluster_addr !== '') return
  const theirs = await runbook.status(to, 'dr')
  if (theirs.cluster_id !== ours.cluster_id || theirs.merkle_root === ours.merkle_root) return
  throw new LabError(
    'remote',
    `${lost} is alive and was demoted, and what ${to} holds is something else, so that writes may be lost: ${runbook.line(`failover ${to} ${lost}`)} promotes ${lost} again, --force promotes ${to} all the same`,
  )
}

/** Demoting a primary that its secondary is cut off from would leave writes behind; two primaries are to be asked for. */
const requirePlannable = async (
  runbook: Runbook,
  { living, lost, to }: { readonly living: string; readonly lost: string; readonly to: string },
): Promise<void> => {
  if (living !== lost)
    throw new LabError(
      'remote',
      `${living} is alive and the DR primary of ${to}, not ${lost}: ${runbook.line(`failover ${living} ${to}`)}`,
    )
  await requireDrSecondary(runbook, to)
  const cut = await findCut(runbook, lost, to)
  if (cut !== undefined)
    throw new LabError(
      'remote',
      `${lost} is alive and a DR primary, and ${to} does not stream from it (${cut}): end what is between them, or use --force, after which there are two primaries and what ${to} lacks is lost`,
    )
}

/** Primary and DR secondary change places while both are well: nothing is lost. */
export const switchOver = async (runbook: Runbook, from: string, to: string): Promise<void> => {
  await requireDrSecondary(runbook, to)
  await requireDrPrimary(runbook, from)
  const token = await operationToken(runbook, to)
  // A demotion waits for whoever is connected: what the other one lacks beyond that would be lost.
  await runbook.need(`${to} to stream from ${from}`, () => findCut(runbook, from, to))
  await handOver(runbook, { from, to, token })
  runbook.say(`${to} is the DR primary now`)
  await follow(runbook, from, to).catch((error: unknown) => {
    runbook.announce(`${from} does not follow ${to} yet; to try that again: ${runbook.line(`rejoin ${from} ${to}`)}`)
    throw error
  })
}

/**
 * Demotes the one and promotes the other. Between the two there is no primary: whoever is left there is told. One that lacks
 * something is not promoted: until the one before is asked to be demoted, nobody knows that for sure.
 */
const handOver = async (
  runbook: Runbook,
  { from, to, token }: { readonly from: string; readonly to: string; readonly token: string },
): Promise<void> => {
  const { secondary_id: id } = await runbook.status(to, 'dr')
  const isOfIt = (text: string) => typeof id !== 'string' || id === '' || text.includes(`"${id}"`)
  const shortfall = (await demote(runbook, from, 'dr')).find((text) => SHORTFALL.test(text) && isOfIt(text))
  if (shortfall !== undefined) return takeBack(runbook, { from, to, shortfall })
  await promote(runbook, to, 'dr', { token, isForced: false }).catch((error: unknown) => {
    runbook.announce(
      `${from} is demoted, and ${to} may not be promoted; to have ${from} lead again: ${runbook.line(`failover ${to} ${from}`)}`,
    )
    throw error
  })
}

/** The warning of a demotion that names secondaries that lack something. */
const SHORTFALL = /^Not every secondary has everything/

/** The secondary lacks something: the primary that was just demoted is promoted again, and nothing is lost. Always rejects. */
const takeBack = async (
  runbook: Runbook,
  { from, to, shortfall }: { readonly from: string; readonly to: string; readonly shortfall: string },
): Promise<never> => {
  const token = await operationToken(runbook, from)
  await promote(runbook, from, 'dr', { token, isForced: false })
  throw new LabError(
    'remote',
    `${to} was not promoted, since writes would be lost; ${from} is the DR primary again, and ${to} follows it after ${runbook.line(`rejoin ${to} ${from}`)}. What ${from} said: ${shortfall}`,
  )
}

/** Why a DR secondary does not get what its primary writes; undefined when it does. */
const findCut = async (runbook: Runbook, primary: string, secondary: string): Promise<string | undefined> => {
  const ours = await runbook.status(primary, 'dr')
  const theirs = await runbook.status(secondary, 'dr')
  if (ours.mode !== 'primary') return `the DR replication of ${primary} is ${ours.mode}`
  if (theirs.cluster_id !== ours.cluster_id) return 'they belong to different replication sets'
  const { state, connection_state: connection } = theirs
  return state === 'stream-wals' && connection === 'ready' ? undefined : `its state is ${state}, ${connection}`
}

/** A former primary that is back after a failover follows its successor. */
export const rejoin = async (runbook: Runbook, name: string, primary: string): Promise<void> => {
  const { mode } = await runbook.status(name, 'dr')
  await requireDrPrimary(runbook, primary)
  if (mode === 'primary') await demote(runbook, name, 'dr')
  await follow(runbook, name, primary)
}

/** Asked before anything is changed: whoever is demoted for a cluster that cannot lead leaves the lab without a primary. */
const requireDrPrimary = async (runbook: Runbook, name: string): Promise<void> => {
  const status = await runbook.status(name, 'dr')
  if (status.mode !== 'primary')
    throw new LabError('remote', `${name} is not a DR primary: its DR replication is ${describeMode(status)}`)
}

const follow = async (runbook: Runbook, name: string, primary: string): Promise<void> => {
  const operation = await operationToken(runbook, name)
  const id = idOf('dr', name)
  await freeId(runbook, primary, 'dr', id)
  const token = await activationToken(runbook, primary, 'dr', id)
  const path = `${REPLICATION}/dr/secondary/update-primary`
  await runbook.call({
    cluster: name,
    method: 'PUT',
    path,
    body: { dr_operation_token: operation, token, ...authorityOf(runbook, primary) },
  })
  await runbook.wait(`${name} to follow ${primary}`, () => runbook.findLag(primary, name, 'dr'))
  runbook.say(`${name} is a DR secondary of ${primary} and replicated`)
}
