import { findLagBetween } from '../../src/lab/requests/replication.js'
import { parseStatus } from '../../src/lab/requests/replication-status.js'
import { Chance } from '../../src/server/simulated/chance.js'
import type { Answer } from '../../src/server/simulated/calls.js'
import { judgeCopies, judgeWrites } from './judges.js'
import type { Registers } from './registers.js'
import type { Servers } from './servers.js'
import { writeOf } from './values.js'
import type { Member, World } from './world.js'

const PAUSE_TIMES = 20
/** Number of values that are written while the filter is set. */
const CANARIES = 3
const DENY = { mode: 'deny', paths: ['hidden/'] }

/** Returns true if the filter withholds a path, such as `one/a`, from the secondary. */
export const isFilterable = (path: string): boolean => DENY.paths.some((denied) => path.startsWith(denied))

const isSuccess = (answer: Answer | undefined): boolean => answer !== undefined && answer.status < 300
const pathFor = (secondary: Member): string =>
  `sys/replication/performance/primary/paths-filter/${secondary.name.toLowerCase()}`

export const setFilter = async (world: World, primary: Member, secondary: Member, isOn: boolean): Promise<boolean> => {
  const path = pathFor(secondary)
  return isSuccess(await world.call(primary, isOn ? { method: 'PUT', path, body: DENY } : { method: 'DELETE', path }))
}

/** Sets and removes a filter on the secondary until the time is over. */
export const runFilters = async (world: World, servers: Servers, secondary: Member, endMs: number): Promise<void> => {
  const { clock, plan } = world
  const chance = new Chance(`${plan.seed} filters`)
  for (;;) {
    await clock.sleep(chance.next() * plan.clientPauseMsMax * PAUSE_TIMES)
    if (clock.monotonic() >= endMs) return
    const isOn = chance.happens(0.5)
    const change = () => setFilter(world, servers.primary, secondary, isOn)
    if (plan.hasFilterStorms && chance.happens(0.5))
      await world.act('filter storm', () => changeRepeatedly(world, chance, servers, secondary))
    else await world.act('filter', change)
  }
}

const CHANGES_MAX = 4

/** Changes the filter several times in a row. A connection may break, or a process may die, during each change. */
const changeRepeatedly = async (world: World, chance: Chance, servers: Servers, secondary: Member): Promise<void> => {
  const { clock, network, plan } = world
  const momentMs = 4 * (plan.networkDelayMsMax + plan.diskDelayMsMax)
  for (let left = 1 + chance.below(CHANGES_MAX); left > 0; left--) {
    const { primary } = servers
    const changed = setFilter(world, primary, secondary, chance.happens(0.5))
    await clock.sleep(chance.next() * momentMs)
    const broken = chance.weighed({ none: 2, connection: 4, process: 1 })
    if (broken === 'connection')
      for (const one of primary.cluster.nodes)
        for (const other of secondary.cluster.nodes) {
          network.reset(one.name, other.name)
          network.reset(other.name, one.name)
        }
    if (broken === 'process') chance.pick([...primary.cluster.nodes, ...secondary.cluster.nodes]).crash(false)
    await changed
    await clock.sleep(chance.next() * momentMs)
  }
}

const ONE_BATCH_FRACTION = 0.2
const DELETED = 6

/**
 * Deletes values in the batch that begins to filter their mount. The secondary receives only the hashes of these
 * deletions. They cancel out the hashes of the values that it still has, until all data is compared.
 */
export const filterInOneBatch = async (world: World, servers: Servers, registers: Registers): Promise<void> => {
  const { clock, plan } = world
  const { primary, secondary } = servers
  const isChosen = new Chance(`${plan.seed} one batch`).happens(ONE_BATCH_FRACTION)
  if (!secondary || primary.cluster.hasNodes || !isChosen) return
  await world.act('filter in one batch', async () => {
    await world.until('the filter is to be lifted', async () =>
      (await setFilter(world, primary, secondary, false)) ? undefined : 'it was not',
    )
    const paths = Array.from({ length: DELETED }, (_, serial) => `hidden/deleted-${serial}`)
    const change = async (path: string, value: string | undefined) => {
      registers.begin(path, value)
      await world.demand(primary, writeOf(path, value))
      registers.acknowledged(path, value, true)
    }
    await Promise.all(paths.map((path) => change(path, `${path} it`)))
    await untilInSync(world, servers)
    const disk = primary.cluster.server?.labState.disk
    // Writes that arrive during one batch join the next one.
    if (disk) Object.assign(disk, { state: 'slow', delayMs: 50 + 2 * plan.networkDelayMsMax })
    const first = world.demand(primary, writeOf('one/in-one-batch', 'it'))
    await clock.sleep(plan.networkDelayMsMax + 10)
    const deleted = paths.map((path) => change(path, undefined))
    await Promise.all([first, ...deleted, setFilter(world, primary, secondary, true)])
    if (disk) disk.state = 'ok'
  })
}

/** Judges the result of the last filter first, because a new filter would make the secondary compare all data. */
export const judgeFilter = async (world: World, servers: Servers, registers: Registers): Promise<void> => {
  const { primary, secondary } = servers
  if (!secondary) return
  const before = await world.read(primary, { method: 'GET', path: pathFor(secondary) })
  await judgeShown(world, servers, registers, before.status === 200)
  const isOn = new Chance(`${world.plan.seed} filter in the end`).happens(0.6)
  await world.until('the filter is to be changed', async () =>
    (await setFilter(world, primary, secondary, isOn)) ? undefined : 'it was not',
  )
  // A value written after the change arrives after all consequences of the change.
  await world.demand(primary, writeOf('one/after-filter', 'it'))
  await judgeShown(world, servers, registers, isOn)
}

/**
 * Checks that with the filter no key and no value of the mount is on the secondary, and that without it all of them
 * are.
 */
const judgeShown = async (world: World, servers: Servers, registers: Registers, isOn: boolean): Promise<void> => {
  const { primary, secondary, secondaryCopy } = servers
  if (!secondary) return
  await untilInSync(world, servers)
  const isShown = (path: string) => !isOn || !isFilterable(path)
  await judgeWrites(world, secondary, registers, isShown)
  if (!isOn) return
  for (let serial = 0; serial < CANARIES; serial++)
    await world.demand(primary, writeOf(`hidden/canary-${serial}`, `${serial}`))
  await untilInSync(world, servers)
  for (const member of secondaryCopy ? [secondary, secondaryCopy] : [secondary]) {
    await judgeCopies(world, member)
    await findCanaries(world, primary, member)
  }
}

/** Waits until every secondary has applied everything, and has destroyed the filtered data. */
const untilInSync = async (world: World, { links }: Servers): Promise<void> => {
  for (const { kind, above, below } of links)
    await world.until(`${below.name} is to follow the filter`, async () => {
      const statusOf = (member: Member) => async () => parseStatus(kind, await world.status(member, kind))
      const lag = await findLagBetween(statusOf(above), statusOf(below))
      return lag ?? (below.cluster.server?.host.isPurgePending ? 'it still destroys filtered data' : undefined)
    })
}

const findCanaries = async (world: World, primary: Member, secondary: Member): Promise<void> => {
  const { json } = await world.demand(primary, { method: 'GET', path: 'sys/mounts/hidden' })
  const { uuid } = json.data as { uuid: string }
  for (const node of secondary.cluster.nodes) {
    const engine = node.server?.host.engine
    if (!engine) world.fail(`${node.name} does not run`)
    for await (const chunk of engine.scan({}))
      for (const { key, value } of chunk)
        if (key.includes(`logical/${uuid}`) || value.includes(`logical/${uuid}`))
          world.fail(`${node.name} holds ${JSON.stringify(key)} of a filtered mount`)
  }
}
