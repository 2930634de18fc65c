import { Chance } from '../../src/server/simulated/chance.js'
import { judgeCaches } from './caches.js'
import { betweenNodes, replicationOf, type Scene } from './failovers.js'
import { setFilter } from './filters.js'
import { judgeLevel } from './judges.js'
import { readOf, writeOf } from './values.js'
import type { Member, World } from './world.js'

/** Number of values of each kind that one comparison overwrites. */
const VALUES = 14
const KINDS = ['two', 'policy'] as const
/** Size of a large value. About four of them fill a step. */
const LARGE = '.'.repeat(60_000)
const LARGE_VALUES = 14
/** Duration of a step on a slow disk. */
const STEP_MS = 50
/** With this duration, a comparison takes longer than readers may use the files of an old generation. */
const PURGE_STEP_MS = 1_000
const PURGE_LARGE_VALUES = 28
const READS = 16
const LOOK_MS = 2
const PATIENCE_MS = 8_000
const PURGE_TRIES = 2

/** Events while a resync writes to a secondary in many steps. */
const AMID = ['nothing', 'kill', 'failing disk', 'purge'] as const
type Amid = (typeof AMID)[number]

/**
 * Runs without random faults. The secondary lacks more than the log of its primary contains, so all data is compared.
 * During the comparison, the secondary dies and starts without its primary, or its disk reports an error, or it
 * destroys filtered data.
 */
export const disturbResyncs = async (world: World, scene: Scene): Promise<void> => {
  const { secondary } = scene.servers
  if (!secondary) return
  const chance = new Chance(`${world.plan.seed} resyncs`)
  const first = chance.pick(AMID)
  const second = chance.pick(AMID.filter((one) => one !== first))
  await judgeLevel(world, scene.servers.links)
  // The cached copies of these values are judged below.
  for (const kind of KINDS) await write(world, scene, kind)
  await judgeLevel(world, scene.servers.links)
  await judgeCaches(world)
  for (const amid of [first, second]) {
    await world.act(`resync ${amid}`, () => DISTURBANCES[amid](world, scene, secondary))
    await judgeLevel(world, scene.servers.links)
    await judgeCaches(world)
  }
}

/** The last index of the primary that a secondary had applied, and the last index of its own log. */
interface Before {
  readonly place: number
  readonly own: number
}

type Disturbance = (world: World, scene: Scene, secondary: Member) => Promise<void>

const DISTURBANCES: Readonly<Record<Amid, Disturbance>> = {
  nothing: async (world, scene, secondary) => {
    const before = await compareAll(world, scene, secondary)
    if (await isAmid(world, secondary, before)) await happensSoon(world, () => !isSyncing(secondary))
    slowDown(secondary, 0)
  },
  kill: async (world, scene, secondary) => {
    const before = await compareAll(world, scene, secondary)
    if (!(await isAmid(world, secondary, before))) return slowDown(secondary, 0)
    secondary.cluster.crash(true)
    apart(world, scene, secondary)
    await world.open(secondary)
    const { state } = await world.status(secondary, 'performance')
    // The last step, with the new index, may have reached the disk.
    const isIncomplete = (storeOf(secondary)?.remotePosition?.index ?? before.place) === before.place
    if (isIncomplete && state === 'stream-wals')
      world.fail(`${secondary.name} started amid a comparison and shows ${state} before it was compared again`)
    together(world, scene, secondary)
  },
  'failing disk': async (world, scene, secondary) => {
    // All data is one step, and the error occurs in the last step.
    const before = await compareAll(world, scene, secondary, 0)
    const [node] = secondary.cluster.nodes
    if (node && (await isAmid(world, secondary, before))) node.disk.failuresLeft = 1
    slowDown(secondary, 0)
  },
  /**
   * A filter that is removed at once starts another comparison of all data while the files of the first one are
   * destroyed.
   */
  purge: async (world, scene, secondary) => {
    for (let tries = 0; tries < PURGE_TRIES; tries++) {
      await lift(world, scene, secondary)
      await fill(world, scene, 'hidden', PURGE_LARGE_VALUES)
      await judgeLevel(world, scene.servers.links)
      const destroying = happensSoon(world, () => isDestroying(secondary))
      await setFilter(world, scene.servers.primary, secondary, true)
      const lifted = setFilter(world, scene.servers.primary, secondary, false)
      if (await destroying) slowDown(secondary, PURGE_STEP_MS)
      await lifted
      const isMet = await happensSoon(world, () => isDestroying(secondary) && isResyncing(secondary))
      if (isMet) await readAmid(world, scene, secondary)
      slowDown(secondary, 0)
      if (isMet) return
    }
  },
}

/** Reads from a secondary during a comparison, which it must answer. */
const readAmid = async (world: World, { registers }: Scene, secondary: Member): Promise<void> => {
  const paths = registers.paths.filter((path) => path.startsWith('two/'))
  for (let reads = 0; reads < READS && isResyncing(secondary); reads++) {
    await world.clock.sleep(PURGE_STEP_MS / 2)
    await world.read(secondary, readOf(paths[reads % paths.length] ?? ''))
  }
}

/** Makes each step of a disk take longer; 0 removes the delay. */
const slowDown = ({ cluster }: Member, delayMs: number): void => {
  const disk = cluster.server?.labState.disk
  if (disk) Object.assign(disk, { state: delayMs > 0 ? 'slow' : 'ok', delayMs })
}

const lift = (world: World, { servers }: Scene, secondary: Member): Promise<void> =>
  world.until('the filter is to be lifted', async () =>
    (await setFilter(world, servers.primary, secondary, false)) ? undefined : 'it was not',
  )

/** Partitions the secondary. Messages in flight are dropped. */
const apart = (world: World, { servers }: Scene, secondary: Member) =>
  betweenNodes(servers.primary, secondary, (from, to) => {
    world.network.cut(from, to)
    world.network.reset(from, to)
  })

const together = (world: World, { servers }: Scene, secondary: Member) =>
  betweenNodes(servers.primary, secondary, (from, to) => world.network.restore(from, to))

/**
 * Makes the secondary lack more than the log contains, and connects it. It serves its previous data in the meantime.
 * Resolves to the position of the secondary before.
 */
const compareAll = async (
  world: World,
  scene: Scene,
  secondary: Member,
  largeValues = LARGE_VALUES,
): Promise<Before> => {
  const { primary } = scene.servers
  const place = storeOf(secondary)?.remotePosition?.index ?? 0
  const own = storeOf(secondary)?.position.index ?? 0
  apart(world, scene, secondary)
  for (const kind of KINDS) await write(world, scene, kind)
  await fill(world, scene, 'one', largeValues)
  await world.until('the log is to be trimmed', async () => {
    const first = primary.cluster.server?.runtime?.store.firstIndex ?? 0
    return first > place + 1 ? undefined : `it begins at ${first}, and the secondary is at ${place}`
  })
  slowDown(secondary, STEP_MS)
  together(world, scene, secondary)
  return { place, own }
}

/** Writes values to new paths, or again to the same paths. */
const write = async (world: World, { servers, registers }: Scene, kind: string): Promise<void> => {
  const paths = Array.from({ length: VALUES }, (_, serial) => `${kind}/resync-${serial}`)
  await Promise.all(
    paths.map(async (path) => {
      const value = `${path} ${world.clock.monotonic()}`
      registers.begin(path, value)
      await world.demand(servers.primary, writeOf(path, value))
      registers.acknowledged(path, value, true)
    }),
  )
}

/** Large values lie between the others, so that a comparison is written in several steps. */
const fill = async (world: World, { servers }: Scene, kind: string, count: number): Promise<void> => {
  const value = `${world.clock.monotonic()}${LARGE}`
  const calls = Array.from({ length: count }, (_, serial) => writeOf(`${kind}/large-${serial}`, value))
  await Promise.all(calls.map((call) => world.demand(servers.primary, call)))
}

const storeOf = ({ cluster }: Member) => cluster.server?.runtime?.store

/**
 * Returns true once a step of the comparison is written, which empties the log, and until the last step, which stores
 * the new index.
 */
const isAmid = (world: World, secondary: Member, { place, own }: Before): Promise<boolean> =>
  happensSoon(world, () => {
    const store = storeOf(secondary)
    if (!store || !isSyncing(secondary)) return false
    const isCut = store.firstIndex > store.position.index && store.position.index > own
    return isCut && (store.remotePosition?.index ?? place) === place
  })

const isSyncing = (secondary: Member): boolean =>
  replicationOf(secondary)?.context.running.performance.follower?.state === 'merkle-sync'

const isResyncing = (secondary: Member): boolean => isSyncing(secondary) && storeOf(secondary)?.isResyncing === true

const isDestroying = ({ cluster }: Member): boolean =>
  cluster.server?.runtime?.cluster?.replication.destruction.isRunning === true

/** Returns true if a temporary condition becomes true in time. */
const happensSoon = async ({ clock }: World, isSo: () => boolean): Promise<boolean> => {
  const endMs = clock.monotonic() + PATIENCE_MS
  while (!isSo()) {
    if (clock.monotonic() > endMs) return false
    await clock.sleep(LOOK_MS)
  }
  return true
}
