import { Chance } from '../../src/server/simulated/chance.js'
import { judgeCaches } from './caches.js'
import { betweenNodes, replicationOf, type FailoverContext } from './failovers.js'
import { setFilter } from './filters.js'
import { judgeInSync } from './judges.js'
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
const POLL_MS = 2
const PATIENCE_MS = 8_000
const PURGE_TRIES = 2

/** Events while a resync writes to a secondary in many steps. */
const EVENTS = ['nothing', 'kill', 'failing disk', 'purge'] as const
type ResyncEvent = (typeof EVENTS)[number]

/**
 * Runs without random faults. The secondary lacks more than the log of its primary contains, so all data is compared.
 * During the comparison, the secondary dies and starts without its primary, or its disk reports an error, or it
 * destroys filtered data.
 */
export const runResyncFaults = async (world: World, context: FailoverContext): Promise<void> => {
  const { secondary } = context.servers
  if (!secondary) return
  const chance = new Chance(`${world.plan.seed} resyncs`)
  const first = chance.pick(EVENTS)
  const second = chance.pick(EVENTS.filter((one) => one !== first))
  await judgeInSync(world, context.servers.links)
  // The cached copies of these values are judged below.
  for (const kind of KINDS) await write(world, context, kind)
  await judgeInSync(world, context.servers.links)
  await judgeCaches(world)
  for (const event of [first, second]) {
    await world.act(`resync ${event}`, () => RUN_EVENT[event](world, context, secondary))
    await judgeInSync(world, context.servers.links)
    await judgeCaches(world)
  }
}

/** The last index of the primary that a secondary had applied, and the last index of its own log. */
interface Positions {
  readonly remoteIndex: number
  readonly ownIndex: number
}

type RunEvent = (world: World, context: FailoverContext, secondary: Member) => Promise<void>

const RUN_EVENT: Readonly<Record<ResyncEvent, RunEvent>> = {
  nothing: async (world, context, secondary) => {
    const before = await startComparison(world, context, secondary)
    if (await isPartlyWritten(world, secondary, before)) await becomesTrueSoon(world, () => !isSyncing(secondary))
    slowDown(secondary, 0)
  },
  kill: async (world, context, secondary) => {
    const before = await startComparison(world, context, secondary)
    if (!(await isPartlyWritten(world, secondary, before))) return slowDown(secondary, 0)
    secondary.cluster.crash(true)
    partition(world, context, secondary)
    await world.open(secondary)
    const { state } = await world.status(secondary, 'performance')
    // The last step, with the new index, may have reached the disk.
    const isIncomplete = (storeOf(secondary)?.remotePosition?.index ?? before.remoteIndex) === before.remoteIndex
    if (isIncomplete && state === 'stream-wals')
      world.fail(`${secondary.name} started during a comparison and shows ${state} before the next one`)
    reconnect(world, context, secondary)
  },
  'failing disk': async (world, context, secondary) => {
    // All data is one step, and the error occurs in the last step.
    const before = await startComparison(world, context, secondary, 0)
    const [node] = secondary.cluster.nodes
    if (node && (await isPartlyWritten(world, secondary, before))) node.disk.failuresLeft = 1
    slowDown(secondary, 0)
  },
  /**
   * A filter that is removed at once starts another comparison of all data while the files of the first one are
   * destroyed.
   */
  purge: async (world, context, secondary) => {
    for (let tries = 0; tries < PURGE_TRIES; tries++) {
      await removeFilter(world, context, secondary)
      await fill(world, context, 'hidden', PURGE_LARGE_VALUES)
      await judgeInSync(world, context.servers.links)
      const destroying = becomesTrueSoon(world, () => isDestroying(secondary))
      await setFilter(world, context.servers.primary, secondary, true)
      const removed = setFilter(world, context.servers.primary, secondary, false)
      if (await destroying) slowDown(secondary, PURGE_STEP_MS)
      await removed
      const overlaps = await becomesTrueSoon(world, () => isDestroying(secondary) && isResyncing(secondary))
      if (overlaps) await readDuringResync(world, context, secondary)
      slowDown(secondary, 0)
      if (overlaps) return
    }
  },
}

/** Reads from a secondary during a comparison, which it must answer. */
const readDuringResync = async (world: World, { registers }: FailoverContext, secondary: Member): Promise<void> => {
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

const removeFilter = (world: World, { servers }: FailoverContext, secondary: Member): Promise<void> =>
  world.until('the filter is to be lifted', async () =>
    (await setFilter(world, servers.primary, secondary, false)) ? undefined : 'it was not',
  )

/** Partitions the secondary. Messages in flight are dropped. */
const partition = (world: World, { servers }: FailoverContext, secondary: Member) =>
  betweenNodes(servers.primary, secondary, (from, to) => {
    world.network.cut(from, to)
    world.network.reset(from, to)
  })

const reconnect = (world: World, { servers }: FailoverContext, secondary: Member) =>
  betweenNodes(servers.primary, secondary, (from, to) => world.network.restore(from, to))

/**
 * Makes the secondary lack more than the log contains, and connects it. It serves its previous data in the meantime.
 * Resolves to the position of the secondary before.
 */
const startComparison = async (
  world: World,
  context: FailoverContext,
  secondary: Member,
  largeValues = LARGE_VALUES,
): Promise<Positions> => {
  const { primary } = context.servers
  const remoteIndex = storeOf(secondary)?.remotePosition?.index ?? 0
  const ownIndex = storeOf(secondary)?.position.index ?? 0
  partition(world, context, secondary)
  for (const kind of KINDS) await write(world, context, kind)
  await fill(world, context, 'one', largeValues)
  await world.until('the log is to be trimmed', async () => {
    const first = primary.cluster.server?.runtime?.store.firstIndex ?? 0
    return first > remoteIndex + 1 ? undefined : `it begins at ${first}, and the secondary is at ${remoteIndex}`
  })
  slowDown(secondary, STEP_MS)
  reconnect(world, context, secondary)
  return { remoteIndex, ownIndex }
}

/** Writes values to new paths, or again to the same paths. */
const write = async (world: World, { servers, registers }: FailoverContext, kind: string): Promise<void> => {
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
const fill = async (world: World, { servers }: FailoverContext, kind: string, count: number): Promise<void> => {
  const value = `${world.clock.monotonic()}${LARGE}`
  const calls = Array.from({ length: count }, (_, serial) => writeOf(`${kind}/large-${serial}`, value))
  await Promise.all(calls.map((call) => world.demand(servers.primary, call)))
}

const storeOf = ({ cluster }: Member) => cluster.server?.runtime?.store

/**
 * Returns true once a step of the comparison is written, which empties the log, and until the last step, which stores
 * the new index.
 */
const isPartlyWritten = (world: World, secondary: Member, { remoteIndex, ownIndex }: Positions): Promise<boolean> =>
  becomesTrueSoon(world, () => {
    const store = storeOf(secondary)
    if (!store || !isSyncing(secondary)) return false
    const isCut = store.firstIndex > store.position.index && store.position.index > ownIndex
    return isCut && (store.remotePosition?.index ?? remoteIndex) === remoteIndex
  })

const isSyncing = (secondary: Member): boolean =>
  replicationOf(secondary)?.context.running.performance.follower?.state === 'merkle-sync'

const isResyncing = (secondary: Member): boolean => isSyncing(secondary) && storeOf(secondary)?.isResyncing === true

const isDestroying = ({ cluster }: Member): boolean =>
  cluster.server?.runtime?.cluster?.replication.destruction.isRunning === true

/** Returns true if a temporary condition becomes true in time. */
const becomesTrueSoon = async ({ clock }: World, condition: () => boolean): Promise<boolean> => {
  const endMs = clock.monotonic() + PATIENCE_MS
  while (!condition()) {
    if (clock.monotonic() > endMs) return false
    await clock.sleep(POLL_MS)
  }
  return true
}
