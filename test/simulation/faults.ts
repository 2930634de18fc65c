import { Chance } from '../../src/server/simulated/chance.js'
import type { SimulatedNode } from '../../src/server/simulated/node.js'
import type { FaultName, NodeFaultName } from './plan.js'
import type { World } from './world.js'

/** Maximum error of a clock. */
export const SKEW_MS_MAX = 20_000

/** Maximum time to wait until a node is sealed or open. */
const TIMEOUT_MS = 2_000

/**
 * Waits for a limited time: a node that cannot reach the shared log responds only when it can, which may be after all
 * faults have ended.
 */
const withTimeout = (world: World, work: Promise<unknown>): Promise<unknown> =>
  Promise.race([work, world.clock.sleep(TIMEOUT_MS)])

/**
 * Starts and unseals all stopped nodes. Needed for nodes killed last: a failover continues after the faults have ended,
 * when no other code starts them.
 */
export const startAndUnsealAll = async (world: World): Promise<void> => {
  for (const member of world.members) {
    const started = world.startAndUnseal(member)
    await (member.cluster.hasNodes ? withTimeout(world, started) : started)
  }
}

type Fault = (world: World, chance: Chance) => unknown

const labStateOf = ({ server }: SimulatedNode) => server?.labState

const FAULTS: Readonly<Record<FaultName, Fault>> = {
  kill: (world, chance) => chance.pick(world.nodes).crash(false),
  losePower: (world, chance) => chance.pick(world.nodes).crash(true),
  stop: (world, chance) => chance.pick(world.nodes).stop(),
  start: (world) => startAndUnsealAll(world),
  cut: (world, chance) => {
    const [from, to] = pickPair(world, chance)
    world.network.cut(from, to)
    world.network.cut(to, from)
  },
  cutOneWay: (world, chance) => world.network.cut(...pickPair(world, chance)),
  heal: (world) => {
    world.network.heal()
    for (const { logLink } of world.nodes) logLink?.heal()
  },
  slowDisk: (world, chance) => {
    const node = chance.pick(world.nodes)
    const disk = labStateOf(node)?.disk
    if (!disk) return
    Object.assign(disk, { state: disk.state === 'slow' ? 'ok' : 'slow', delayMs: chance.between(10, 500) })
    world.history.tell(node.name, () => `disk: ${disk.state}, ${disk.delayMs.toFixed(0)} ms where it is slow`)
  },
  fullDisk: (world, chance) => {
    const node = chance.pick(world.nodes)
    const disk = labStateOf(node)?.disk
    if (!disk) return
    disk.state = disk.state === 'full' ? 'ok' : 'full'
    world.history.tell(node.name, () => `disk: ${disk.state}`)
  },
  skew: (world, chance) => {
    const node = chance.pick(world.nodes)
    const state = labStateOf(node)
    if (!state) return
    state.skewMs = Math.round(chance.between(-SKEW_MS_MAX, SKEW_MS_MAX))
    world.history.tell(node.name, () => `clock: ${state.skewMs} ms`)
  },
  seal: async (world, chance) => {
    const member = chance.pick(world.members)
    const sealed = world.call(member, { method: 'PUT', path: 'sys/seal' })
    // A node that cannot reach the shared log has already discarded its key.
    await (member.cluster.hasNodes ? withTimeout(world, sealed) : sealed)
  },
  reset: (world, chance) => world.network.reset(...pickPair(world, chance)),
  failDisk: (world, chance) => {
    const node = chance.pick(world.nodes)
    // A server that cannot read its data at startup exits, and must be started again.
    if (!node.server) return
    node.disk.failuresLeft = 1
    world.history.tell(node.name, () => 'disk: writes the next batch, but reports an error')
  },
}

const pickPair = (world: World, chance: Chance): [string, string] => {
  const from = chance.pick(world.nodes)
  return [from.name, chance.pick(world.nodes.filter((node) => node !== from)).name]
}

/** Faults of one node of several. They affect the active node most of the time. */
export const NODE_FAULTS: Readonly<
  Record<NodeFaultName, (world: World, node: SimulatedNode, chance: Chance) => unknown>
> = {
  stepDown: (world, node) => {
    const member = world.members.find(({ cluster }) => cluster.nodes.includes(node))
    return member && world.call(member, { method: 'PUT', path: 'sys/step-down' })
  },
  freeze: (world, node, chance) => node.freeze(chance.next() * FREEZE_TIMES * world.plan.nodes.leaseMs),
  cutLog: (_, node) => node.logLink?.cut(),
  loseLogAnswers: (_, node) => node.logLink?.loseAnswers(),
  loseDisk: (_, node) => node.loseDisk(),
}

const FREEZE_TIMES = 3
const ACTIVE_FRACTION = 0.6

const pickNode = (world: World, chance: Chance): SimulatedNode => {
  const { cluster } = chance.pick(world.members.filter((member) => member.cluster.hasNodes))
  const [active] = cluster.serving
  return active && chance.happens(ACTIVE_FRACTION) ? active : chance.pick(cluster.nodes)
}

/** Injects one fault after another until the time is over. */
export const runFaults = async (world: World, endMs: number): Promise<void> => {
  const { clock, plan, history } = world
  const chance = new Chance(`${plan.seed} faults`)
  world.network.isCalm = false
  for (;;) {
    await clock.sleep(chance.next() * plan.faultPauseMsMax)
    if (clock.monotonic() >= endMs) return
    const name = chance.weighed(plan.faults)
    await world.act(`fault ${name}`, () => {
      history.add('', `fault: ${name}`)
      return FAULTS[name](world, chance)
    })
  }
}

/** Injects faults that exist only in clusters with several nodes. */
export const runNodeFaults = async (world: World, endMs: number): Promise<void> => {
  const { clock, plan, history } = world
  if (!world.members.some(({ cluster }) => cluster.hasNodes)) return
  if (Object.values(plan.nodes.faults).every((weight) => weight === 0)) return
  const chance = new Chance(`${plan.seed} faults of nodes`)
  for (;;) {
    await clock.sleep(chance.next() * 2 * plan.faultPauseMsMax)
    if (clock.monotonic() >= endMs) return
    const name = chance.weighed(plan.nodes.faults)
    const node = pickNode(world, chance)
    await world.act(`fault ${name}`, async () => {
      history.add(node.name, `fault: ${name}`)
      await NODE_FAULTS[name](world, node, chance)
    })
  }
}

/** Clears all faults, and starts and unseals all nodes. */
export const endFaults = async (world: World): Promise<void> => {
  world.history.add('', 'nothing goes wrong from now on')
  world.network.isCalm = true
  world.network.heal()
  for (const node of world.nodes) {
    node.logLink?.heal()
    const state = labStateOf(node)
    if (state) Object.assign(state.disk, { state: 'ok' })
    node.disk.failuresLeft = 0
    if (state) state.skewMs = 0
  }
  for (const member of world.members) await world.open(member)
}
