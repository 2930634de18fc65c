import { KIND_WORDS, type Kind } from '../model/kinds.js'
import { LabError } from '../model/lab-error.js'
import { describeLoss, expectedLoss } from '../requests/expected-loss.js'
import { filterPath } from '../requests/filters.js'
import { countLost, describeLost, describeRestored, newLosses, restoredBy } from '../requests/losses.js'
import {
  generateOperationToken,
  generationInProgress,
  idOf,
  OPERATION_TOKEN,
  REPLICATION,
} from '../requests/replication.js'
import { findStreamProblem } from '../requests/replication-status.js'
import { findFilter } from './filters.js'
import {
  findCutLink,
  noShares,
  refuseAhead,
  refuseCutLink,
  rejoinLine,
  requireFollower,
  requireMode,
  requireSameSet,
  requireShares,
} from './preflight.js'
import { DECODE_TOKEN, GENERATE_OTP } from './procedure-steps.js'
import { activationToken, authorityOf, demote, freeId, promote } from './role-changes.js'
import type { Runbook } from './runbook.js'

/**
 * Operations on a replicated lab that are error-prone by hand. Each sends several requests in the right order, and
 * waits for the condition that the next request needs.
 */

/** Generates a one-time DR operation token from the key shares of the lab. */
export const operationToken = async (runbook: Runbook, name: string): Promise<string> => {
  const write = (path: string, body?: Readonly<Record<string, string>>) => runbook.write(name, path, body, false)
  if (runbook.isDryRun) {
    await requireMode(runbook, name, 'dr', 'secondary')
    const { started, required } = await runbook.read(name, `${OPERATION_TOKEN}/attempt`, false)
    if (started === true) throw generationInProgress()
    const { threshold } = requireShares(runbook, name, Number(required ?? 0))
    await runbook.show(name, GENERATE_OTP)
    await write(`${OPERATION_TOKEN}/attempt`)
    for (let share = 1; share <= threshold; share += 1)
      await write(`${OPERATION_TOKEN}/update`, { nonce: '<nonce>', key: `key share ${share} of ${threshold}` })
    await runbook.show(name, DECODE_TOKEN)
    return '<operation token>'
  }
  for (const { unsealKeys, threshold } of runbook.keysFor(name)) {
    await runbook.show(name, GENERATE_OTP)
    const token = await generateOrCancel(runbook, name, unsealKeys.slice(0, threshold))
    if (token === undefined) continue
    await runbook.show(name, DECODE_TOKEN)
    return token
  }
  await requireMode(runbook, name, 'dr', 'secondary')
  throw noShares(name)
}

/**
 * Generates an operation token as `generateOperationToken` does. If it fails, cancels the generation that it began,
 * because an open generation blocks later operations. Does not cancel a generation of another operator.
 */
const generateOrCancel = async (
  runbook: Runbook,
  name: string,
  keys: readonly string[],
): Promise<string | undefined> => {
  const path = `${OPERATION_TOKEN}/attempt`
  let isOpen = false
  const write = async (called: string, body?: Readonly<Record<string, string>>) => {
    const answer = await runbook.write(name, called, body, false)
    isOpen = answer.complete !== true
    return answer
  }
  try {
    return await generateOperationToken(write, keys)
  } finally {
    // If the generation has failed, its error is more useful than the error of this request.
    if (isOpen) await runbook.call({ cluster: name, method: 'DELETE', path }).catch(() => undefined)
  }
}

/** Switches the roles of a healthy primary and its DR secondary without data loss. */
export const switchOver = async (runbook: Runbook, from: string, to: string): Promise<void> => {
  runbook.requireTwo(from, to)
  await requireMode(runbook, to, 'dr', 'secondary')
  await requireMode(runbook, from, 'dr', 'primary')
  await requireStream(runbook, from, to, 'dr')
  await handOver(runbook, { from, to, kind: 'dr' })
  await followAll(runbook, [from], to, 'dr')
}

/** Waits until a secondary streams: a demotion sends its last entries only to connected secondaries. */
export const requireStream = async (runbook: Runbook, from: string, to: string, kind: Kind): Promise<void> => {
  await refuseAhead(runbook, from, to, kind)
  await requireFollower(runbook, from, to, kind)
  const check = { cluster: to, kind, field: 'state', value: 'stream-wals' } as const
  await runbook.waitForPrecondition(`${to} to stream from ${from}`, () => findCut(runbook, from, to, kind), check)
}

interface HandOver {
  readonly from: string
  readonly to: string
  readonly kind: Kind
  /** The other secondaries. A demotion unregisters them, so they must join again if the primary is promoted again. */
  readonly others?: readonly string[]
}

/**
 * Demotes `from` and promotes `to`. If `to` lacks data or has different data, promotes `from` again and rejects. Only
 * the response to the demotion reports missing data reliably. Between the two steps, the set has no primary. If the
 * promotion fails, announces the command that promotes `from` again.
 */
export const handOver = async (runbook: Runbook, { from, to, kind, others = [] }: HandOver): Promise<void> => {
  const token = await operationTokenFor(runbook, to, kind)
  const { secondaryId } = await runbook.status(to, kind)
  const namesSecondary = (text: string) => secondaryId === '' || text.includes(`"${secondaryId}"`)
  const shortfall = (await demote(runbook, from, kind)).find((text) => SHORTFALL.test(text) && namesSecondary(text))
  const undo = async (why: string, hint: string): Promise<never> => {
    await promote(runbook, from, kind, { token: await operationTokenFor(runbook, from, kind), isForced: false })
    await followAll(runbook, others, from, kind).catch(() => undefined)
    throw new LabError(
      'remote',
      `${to} was not promoted, because ${why}; ${from} is the ${KIND_WORDS[kind]} primary again; to make ${to} follow it: ${rejoinLine(runbook, to, from, kind)}. ${hint}`,
    )
  }
  if (shortfall !== undefined) await undo('writes would be lost', `Warning of ${from}: ${shortfall}`)
  if (kind === 'dr' && (await hasOtherData(runbook, from, to)))
    await undo('its data differs', `To rebuild the Merkle trees of a cluster: vault write -f ${REPLICATION}/reindex`)
  await promote(runbook, to, kind, { token, isForced: false }).catch((error: unknown) => {
    const again = runbook.line(
      kind === 'dr' ? { verb: 'failover', clusters: [to, from] } : { verb: 'promote', clusters: [from], kind },
    )
    runbook.announce(`${from} is demoted, and ${to} may not be promoted; to promote ${from} again: ${again}`)
    throw error
  })
  runbook.say(`${to} is the ${KIND_WORDS[kind]} primary now`)
}

/** Whether the Merkle roots of a demoted primary and its secondary differ, although the secondary has the whole log. */
const hasOtherData = async (runbook: Runbook, from: string, to: string): Promise<boolean> => {
  if (runbook.isDryRun) return false
  const [ours, theirs] = [await runbook.status(from, 'dr'), await runbook.status(to, 'dr')]
  return ours.merkleRoot !== theirs.merkleRoot
}

/** The start of the warning with which a demotion names the secondaries that lack data. */
const SHORTFALL = /^Not every secondary has everything/

/** Generates the operation token that a DR secondary requires. Undefined for performance: it uses root tokens. */
export const operationTokenFor = async (runbook: Runbook, name: string, kind: Kind): Promise<string | undefined> =>
  kind === 'dr' ? operationToken(runbook, name) : undefined

/** Returns why a secondary does not stream, and what a failover would lose. Undefined if it streams. */
export const findCut = async (
  runbook: Runbook,
  primary: string,
  secondary: string,
  kind: Kind,
): Promise<string | undefined> => {
  const ours = await runbook.status(primary, kind)
  const theirs = await runbook.status(secondary, kind)
  if (ours.mode !== 'primary') return `the ${KIND_WORDS[kind]} replication of ${primary} is ${ours.mode}`
  const problem = findStreamProblem(theirs)
  const last = { set: ours.clusterId, epoch: '', lastWal: ours.lastKindWal, isFinal: false }
  const loss = expectedLoss({ secondary: theirs, epoch: '', announced: 0, last, nowMs: 0 })
  if (problem === undefined) return undefined
  const cut = await findCutLink(runbook, primary, secondary)
  return [problem, ...(cut === undefined ? [] : [cut]), `a failover ${describeLoss(loss)}`].join('; ')
}

/** Makes a former primary a secondary of its successor after a failover. */
export const rejoin = async (runbook: Runbook, name: string, primary: string, kind: Kind = 'dr'): Promise<void> => {
  runbook.requireTwo(name, primary)
  const { mode, merkleRoot } = await runbook.status(name, kind)
  const theirs = await requireMode(runbook, primary, kind, 'primary')
  await requireSameSet(runbook, name, primary, kind)
  await refuseCutLink(runbook, name, primary)
  if (kind === 'dr') requireShares(runbook, name)
  if (merkleRoot !== theirs.merkleRoot)
    await runbook.confirmErase(`${name} discards the log entries that ${primary} does not have`)
  const list = runbook.line({ verb: 'losses', clusters: [name] })
  const before = await runbook.losses(name)
  if (mode === 'primary') await demote(runbook, name, kind)
  await follow(runbook, name, primary, kind)
  const after = await runbook.losses(name)
  if (before === undefined || after === undefined) {
    const unknown = `cannot read which log entries ${name} discarded; to list all that it discarded`
    return runbook.note(name, `${unknown}: ${list}`)
  }
  const losses = newLosses(before, after)
  if (losses.length === 0) return
  const lost = `that ${primary} does not have`
  const restored = describeRestored(restoredBy(losses))
  const back = restored === '' ? '' : `; credentials that came back: ${restored}`
  const text =
    countLost(losses) > 0
      ? `${name} discarded ${describeLost(losses)} ${lost}${back}; to list them`
      : `${name} may have discarded log entries ${lost}, and has no list of them; for the reason`
  await runbook.note(name, `${text}: ${list}`)
}

/**
 * Makes clusters of a set follow its new primary. Announces how to retry for each that fails, and throws the first
 * error.
 */
export const followAll = async (
  runbook: Runbook,
  names: readonly string[],
  primary: string,
  kind: Kind,
): Promise<void> => {
  const failures: unknown[] = []
  for (const name of names)
    await follow(runbook, name, primary, kind).catch((error: unknown) => {
      const command = rejoinLine(runbook, name, primary, kind)
      runbook.announce(`${name} does not follow ${primary} yet; to retry: ${command}`)
      failures.push(error)
    })
  if (failures.length > 0) throw failures[0]
}

/** Registers a cluster on its new primary, makes it a secondary of this primary, and waits until it is replicated. */
const follow = async (runbook: Runbook, name: string, primary: string, kind: Kind): Promise<void> => {
  const operation = await operationTokenFor(runbook, name, kind)
  const { secondaryId } = await runbook.status(name, kind)
  const { knownSecondaries } = await runbook.status(primary, kind)
  // The path filter of a performance secondary belongs to its ID.
  const id = kind === 'performance' && secondaryId !== '' ? secondaryId : idOf(kind, name)
  const isFiltered = kind === 'performance' && knownSecondaries.includes(id)
  const filter = isFiltered ? await findFilter(runbook, primary, id) : undefined
  await freeId(runbook, primary, kind, id)
  if (filter) await runbook.write(primary, filterPath(id), { ...filter })
  const token = await activationToken(runbook, primary, kind, id)
  const body = {
    ...(operation === undefined ? {} : { dr_operation_token: operation }),
    token,
    ...authorityOf(runbook, primary),
  }
  await runbook.write(name, `${REPLICATION}/${kind}/secondary/update-primary`, body, kind === 'performance')
  const lag = () => runbook.findLag(primary, name, kind)
  await runbook.wait(`${name} to follow ${primary}`, lag, { cluster: name, kind, primary })
  runbook.say(`${name} is a ${KIND_WORDS[kind]} secondary of ${primary} and replicated`)
}
