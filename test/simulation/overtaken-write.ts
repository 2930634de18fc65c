import { currentEpoch } from '../../src/replication/model/epoch.js'
import { betweenNodes, force, primaryAndCopyOf, rejoin, replicationOf, type FailoverContext } from './failovers.js'
import { Chance } from '../../src/server/simulated/chance.js'
import { judgeInSync } from './judges.js'
import { readOf, writeOf } from './values.js'
import type { Member, World } from './world.js'

/** More bytes than a primary sends before its secondary has responded. */
const LARGE = 'x'.repeat(1_200_000)
const SLOW_MS = 150
const WRITTEN = 'one/overtaken'

/**
 * A secondary forwards a write, gets the response, and follows the copy that has replaced the primary before it gets
 * the log entry. The copy does not have the entry, so the secondary must not acknowledge the write. The log waits at
 * the primary because it has sent a large entry, and the secondary cannot acknowledge that entry. The log of the copy
 * ends at the index of the large entry, where it has another one.
 */
export const overtakeForwardedWrite = async (world: World, context: FailoverContext): Promise<void> => {
  const { servers } = context
  const { secondary } = servers
  const [before, after] = primaryAndCopyOf(servers)
  const [from] = before.cluster.nodes
  const [below] = secondary?.cluster.nodes ?? []
  if (!secondary || !from || !below) throw new Error('a secondary that serves clients is missing')
  const { clock, network, plan, history } = world
  await judgeInSync(world, servers.links)
  history.add('', `failover: ${secondary.name} forwards a write to ${before.name}, and then follows ${after.name}`)
  for (const other of [before, secondary]) betweenNodes(other, after, (one, two) => network.cut(one, two))
  await force(world, context, after)
  await alignIndexes(world, before, after)
  const disk = from.server?.labState.disk
  const arrivedMs = plan.networkDelayMsMax + 10
  if (disk) Object.assign(disk, { state: 'slow', delayMs: SLOW_MS + 2 * arrivedMs })
  const large = world.call(before, writeOf(`${WRITTEN}-large`, LARGE))
  await clock.sleep(arrivedMs)
  const forwarded = answerOf(world, secondary)
  await clock.sleep(2 * arrivedMs)
  network.cut(below.name, from.name)
  await large
  await clock.sleep(2 * SLOW_MS + 4 * arrivedMs + 2 * plan.diskDelayMsMax)
  before.cluster.crash(false)
  betweenNodes(secondary, after, (one, two) => network.restore(one, two))
  const followedMs = await waitForMove(world, secondary, after, forwarded)
  const { isAcknowledged, atMs } = await forwarded
  const isLate = followedMs !== undefined && atMs - followedMs > arrivedMs
  const { status } = await world.read(after, readOf(WRITTEN))
  if (isAcknowledged && isLate && status === 404)
    world.fail(`${secondary.name} follows ${after.name} and acknowledges a write that ${after.name} does not have`)
  network.heal()
  await world.open(before)
  await rejoin(world, context, new Chance(`${plan.seed} forwarded write`))
}

/** Maximum number of entries that a log gets until it ends at the same index as another log. */
const ENTRIES_MAX = 500

/** Writes to two primaries that do not know each other until the second log is one entry ahead. */
const alignIndexes = async (world: World, first: Member, second: Member): Promise<void> => {
  const indexOf = ({ cluster }: Member) => cluster.server?.runtime?.store.position.index ?? 0
  const missing = indexOf(first) + 1 - indexOf(second)
  if (Math.abs(missing) > ENTRIES_MAX) return
  const behind = missing > 0 ? second : first
  const calls = Array.from({ length: Math.abs(missing) }, (_, serial) => writeOf(`one/aligned-${serial}`, 'it'))
  await Promise.all(calls.map((call) => world.demand(behind, call)))
}

const answerOf = async (world: World, secondary: Member) => {
  const answer = await world.call(secondary, writeOf(WRITTEN, 'it'))
  return { isAcknowledged: answer !== undefined && answer.status < 300, atMs: world.clock.monotonic() }
}

/**
 * Resolves when the secondary has learned of the epoch of its new primary; undefined if the write was answered before.
 */
const waitForMove = async (
  { clock }: World,
  secondary: Member,
  primary: Member,
  answered: Promise<unknown>,
): Promise<number | undefined> => {
  let isAnswered = false
  void answered.then(() => {
    isAnswered = true
  })
  const epochOf = (member: Member): string | undefined => member.cluster.server?.runtime?.store.epoch
  const followed = () => replicationOf(secondary)?.context.running.performance.follower?.primaryEpochs ?? []
  while (!isAnswered) {
    if (currentEpoch(followed())?.id === epochOf(primary)) return clock.monotonic()
    await clock.sleep(5)
  }
  return undefined
}
