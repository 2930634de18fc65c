import { Chance } from '../../src/server/simulated/chance.js'
import { betweenNodes, type FailoverContext, force, primaryAndCopyOf, rejoin } from './failovers.js'
import { judgeInSync } from './judges.js'
import { readOf, writeOf } from './values.js'
import type { Member, World } from './world.js'

const WRITES_MAX = 30

/**
 * An operator puts an older copy of the primary's disk back. The primary then writes other entries at the indexes of
 * entries that its copy has, and the copy is promoted. All these later writes must be on a list of losses, and none of
 * the earlier ones, which the copy has. The performance secondary receives either the earlier writes or the later ones.
 */
export const failOverWithOlderDisk = async (world: World, context: FailoverContext): Promise<void> => {
  const { servers, registers, losses } = context
  const [before, after] = primaryAndCopyOf(servers)
  const { secondary, links } = servers
  const [node] = before.cluster.nodes
  if (!node) throw new Error('the primary has no node')
  const chance = new Chance(`${world.plan.seed} older disk`)
  await judgeInSync(world, links)
  world.history.add('', `failover: with an older disk, from ${before.name} to ${after.name}`)
  node.crash(false)
  const putBack = node.disk.copy()
  await world.open(before)
  const isLate = secondary !== undefined && chance.happens(0.5)
  const isCut = (one: Member) => one === secondary && isLate
  const others = links.map(({ below }) => below)
  for (const one of others.filter(isCut)) cut(world, before, one)
  const earlier = await writeAll(world, before, 'earlier', 1 + chance.below(WRITES_MAX))
  await judgeInSync(
    world,
    links.filter(({ below }) => !isCut(below)),
  )
  for (const one of others) cut(world, before, one)
  if (chance.happens(0.3)) after.cluster.crash(false)
  servers.beginTerm()
  registers.markUncertain()
  node.crash(false)
  putBack()
  await world.open(before)
  for (const one of others.filter(isCut)) restore(world, before, one)
  const later = await writeAll(world, before, 'later', 1 + chance.below(WRITES_MAX))
  await world.clock.sleep(chance.between(0, 2_000))
  await world.open(after)
  await force(world, context, after)
  world.network.heal()
  await rejoin(world, context, chance)
  for (const path of earlier) {
    const { status } = await world.read(after, readOf(path))
    if (status !== 200) world.fail(`${after.name} lacks ${path}, which it had before the failover`)
    if (losses.names(path)) world.fail(`a list names ${path}, which ${after.name} has`)
  }
  for (const path of later)
    if (!losses.isIncomplete && !losses.names(path))
      world.fail(`no list names ${path}, which ${before.name} wrote after its disk was put back`)
}

const cut = (world: World, one: Member, other: Member) =>
  betweenNodes(one, other, (from, to) => world.network.cut(from, to))

const restore = (world: World, one: Member, other: Member) =>
  betweenNodes(one, other, (from, to) => world.network.restore(from, to))

/** Writes new values, and returns their paths. */
const writeAll = async (world: World, member: Member, name: string, count: number): Promise<readonly string[]> => {
  const paths = Array.from({ length: count }, (_, n) => `one/${name}-${n}`)
  for (const path of paths) await world.demand(member, writeOf(path, name))
  return paths
}
