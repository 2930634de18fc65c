import { Chance } from './chance.js'
import type { FaultName } from './plan.js'
import type { Member, World } from './world.js'

/** How far a clock is wrong at most. */
export const SKEW_MS_MAX = 60_000

type Fault = (world: World, chance: Chance) => Promise<void> | void

const faultOf = ({ cluster }: Member) => cluster.server?.labState

const FAULTS: Readonly<Record<FaultName, Fault>> = {
  kill: (world, chance) => chance.pick(world.members).cluster.crash(false),
  losePower: (world, chance) => chance.pick(world.members).cluster.crash(true),
  stop: (world, chance) => chance.pick(world.members).cluster.stop(),
  start: async (world) => {
    for (const member of world.members) await world.raise(member)
  },
  cut: (world, chance) => {
    const [from, to] = pickPair(world, chance)
    world.network.cut(from, to)
    world.network.cut(to, from)
  },
  cutOneWay: (world, chance) => world.network.cut(...pickPair(world, chance)),
  heal: (world) => world.network.heal(),
  slowDisk: (world, chance) => {
    const disk = faultOf(chance.pick(world.members))?.disk
    if (disk) Object.assign(disk, { state: disk.state === 'slow' ? 'ok' : 'slow', delayMs: chance.between(10, 500) })
  },
  fullDisk: (world, chance) => {
    const disk = faultOf(chance.pick(world.members))?.disk
    if (disk) disk.state = disk.state === 'full' ? 'ok' : 'full'
  },
  skew: (world, chance) => {
    const state = faultOf(chance.pick(world.members))
    if (state) state.skewMs = Math.round(chance.between(-SKEW_MS_MAX, SKEW_MS_MAX))
  },
  seal: async (world, chance) => {
    await world.call(chance.pick(world.members), { method: 'PUT', path: 'sys/seal' })
  },
}

const pickPair = (world: World, chance: Chance): [string, string] => {
  const from = chance.pick(world.members)
  return [from.name, chance.pick(world.members.filter((member) => member !== from)).name]
}

/** Lets one thing after the other go wrong until the time is over. */
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

/** From now on nothing goes wrong any more, and everything is up. */
export const endFaults = async (world: World): Promise<void> => {
  world.history.add('', 'nothing goes wrong from now on')
  world.network.isCalm = true
  world.network.heal()
  for (const member of world.members) {
    const state = faultOf(member)
    if (state) Object.assign(state.disk, { state: 'ok' })
    if (state) state.skewMs = 0
  }
  for (const member of world.members) await world.open(member)
}
