import { KIND_WORDS, type Kind } from '../model/kinds.js'
import { LabError } from '../model/lab-error.js'
import { isFollower, NO_STATUS } from '../requests/replication-status.js'
import { followAll, handOver, operationTokenFor, requireStream } from './operations.js'
import { askOthers, refuseFiltered, rejoinLine, requireMode } from './preflight.js'
import { promote } from './role-changes.js'
import type { Runbook } from './runbook.js'

/**
 * Promotes a secondary, and makes the other secondaries of its set follow it. First demotes a running primary, which
 * then follows as well. `isForced`: does not change the primary, and promotes the secondary even if it lacks data.
 */
export const promoteCluster = async (runbook: Runbook, to: string, kind: Kind, isForced: boolean): Promise<void> => {
  const word = KIND_WORDS[kind]
  const { clusterId: set } = await requireMode(runbook, to, kind, 'secondary')
  const others = await askOthers(runbook, [to], kind)
  const members = others.filter(({ clusterId }) => clusterId === set)
  const primaries = members.filter(({ mode }) => mode === 'primary').map(({ name }) => name)
  if (!isForced) await requirePromotable(runbook, to, kind, primaries)
  const [from] = isForced ? [] : primaries
  const followers = members.filter(isFollower).map(({ name }) => name)
  if (from === undefined) {
    const token = await operationTokenFor(runbook, to, kind)
    runbook.announce(
      primaries.length > 0
        ? `WARNING: the ${word} primary ${primaries.join(' and ')} is not demoted, so there are two primaries`
        : `WARNING: no ${word} primary of ${to} responds; writes that ${to} has not received are lost`,
    )
    await promote(runbook, to, kind, { token, isForced })
    runbook.say(`${to} is the ${word} primary now`)
  } else await handOver(runbook, { from, to, kind, others: followers })
  for (const { name } of others.filter(({ mode }) => mode === NO_STATUS.mode))
    runbook.announce(
      `${name} does not respond; if it belongs to this replication set, start it, then run: ${rejoinLine(runbook, name, to, kind)}`,
    )
  await followAll(runbook, from === undefined ? followers : [from, ...followers], to, kind)
}

/** Rejects before any change if a promotion without force would fail, or if only `failover` can check its loss. */
const requirePromotable = async (
  runbook: Runbook,
  to: string,
  kind: Kind,
  primaries: readonly string[],
): Promise<void> => {
  const [from, second] = primaries
  if (from !== undefined && second !== undefined)
    throw new LabError(
      'remote',
      `${from} and ${second} are both ${KIND_WORDS[kind]} primaries; to keep ${second} as the only primary, run: ${rejoinLine(runbook, from, second, kind)}`,
    )
  if (from === undefined && kind === 'dr') {
    const line = runbook.line({ verb: 'failover', clusters: ['PRIMARY', to] })
    throw new LabError('remote', `no DR primary of ${to} responds, so writes may be lost: "${line}" checks the loss`)
  }
  if (from !== undefined) await requireStream(runbook, from, to, kind)
  if (kind === 'performance') await refuseFiltered(runbook, to, from)
}
