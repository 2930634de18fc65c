import { findLagBetween } from '../../src/lab/requests/replication.js'
import { parseStatus } from '../../src/lab/requests/replication-status.js'
import { listStored, verifyStored } from '../../src/storage/inspection/inspect.js'
import { APPLIED_KEY } from '../../src/storage/keys/raw-keys.js'
import { LogicalError } from '../../src/logical/errors.js'
import { Chance } from '../../src/server/simulated/chance.js'
import type { SimulatedNode } from '../../src/server/simulated/node.js'
import type { Registers } from './registers.js'
import type { Link } from './servers.js'
import { readOf, valueIn } from './values.js'
import type { Member, World } from './world.js'

/** Waits until all clusters are open and every secondary has applied everything of its primary. */
export const judgeInSync = async (world: World, links: readonly Link[]): Promise<void> => {
  for (const member of world.members) await world.open(member)
  for (const { above } of links)
    await world.until(`${above.name}, the only primary, must not be fenced`, async () => {
      const fence = above.cluster.server?.runtime?.cluster?.replication.view.fence
      return fence && `it is, by epoch ${fence.byEpoch}`
    })
  for (const { kind, above, below } of links)
    await world.until(`${below.name} is to catch up with ${above.name}`, () =>
      findLagBetween(
        async () => parseStatus(kind, await world.status(above, kind)),
        async () => parseStatus(kind, await world.status(below, kind)),
      ),
    )
}

/** Checks that all acknowledged writes are present. */
export const judgeWrites = async (
  world: World,
  member: Member,
  registers: Registers,
  isShown: (path: string) => boolean = () => true,
): Promise<void> => {
  for (const path of registers.paths.filter(isShown)) {
    const wrong = registers.findWrong(path, valueIn(path, await world.read(member, readOf(path))))
    if (wrong) world.fail(`${member.name} has lost a write: ${wrong}`)
  }
}

/** Checks that the log is complete, and that the trees match the data: the stored trees and those in memory. */
export const judgeStorage = async (world: World, { cluster }: Member): Promise<void> => {
  for (const { name, server } of cluster.nodes) {
    if (!server) world.fail(`${name} does not run`)
    const found = await verifyStored(server.host.engine)
    if (!found.isSound)
      world.fail(
        `the storage of ${name} is damaged: ${found.logProblem ?? ''} ${found.damage.join(', ')} ` +
          `${found.corruptPages.replicated.size} and ${found.corruptPages.local.size} pages of the trees are wrong`,
      )
    const { replicated, local } = (await server.runtime?.store.examine())?.pages ?? {}
    if (replicated?.size || local?.size)
      world.fail(`${name} has ${replicated?.size} and ${local?.size} wrong pages in its trees`)
  }
}

const TREE_PAUSE_MS_MAX = 4_000

/** Checks repeatedly, during all faults, that the trees in memory match the stored data. */
export const runTreeChecks = async (world: World, endMs: number): Promise<void> => {
  const { clock, nodes, plan } = world
  const chance = new Chance(`${plan.seed} trees`)
  for (;;) {
    await clock.sleep(chance.next() * TREE_PAUSE_MS_MAX)
    if (clock.monotonic() >= endMs) return
    const { name, server } = chance.pick(nodes)
    const found = await server?.runtime?.store.examine().catch((error: unknown) => {
      // The server died in the meantime, or has other data.
      if (error instanceof LogicalError) return undefined
      throw error
    })
    const pages = found ? found.pages.replicated.size + found.pages.local.size : 0
    if (pages > 0) world.fail(`${name} has ${pages} wrong pages in its trees`)
  }
}

/**
 * Checks that the nodes of a cluster store the same bytes at the same position of their log, and that all of them reach
 * its end.
 */
export const judgeCopies = async (world: World, { cluster, name }: Member): Promise<void> => {
  if (!cluster.hasNodes) return
  await world.until(`the nodes of ${name} are to have equal data`, async () => {
    const [first, ...others] = await Promise.all(cluster.nodes.map((node) => copyOf(world, node)))
    if (!first) return 'the data of a node is being replaced'
    for (const other of others) {
      if (!other) return 'the data of a node is being replaced'
      if (other.applied !== first.applied) return `${first.applied} and ${other.applied}`
      const keys = new Set([...first.content.keys(), ...other.content.keys()])
      for (const key of keys)
        if (first.content.get(key) !== other.content.get(key))
          world.fail(`the nodes of ${name} differ at ${first.applied}: ${JSON.stringify(key)}`)
    }
    return undefined
  })
}

interface Copy {
  /** The position in the shared log, as text. */
  readonly applied: string
  readonly content: ReadonlyMap<string, string>
}

/** Returns undefined while another generation replaces the data. */
const copyOf = async (world: World, { name, server }: SimulatedNode): Promise<Copy | undefined> => {
  if (!server) world.fail(`${name} does not run`)
  if (!server.runtime) return undefined
  const { engine } = server.host
  const snapshot = engine.snapshot()
  try {
    const content = new Map<string, string>()
    for await (const chunk of engine.scan({}, { snapshot }))
      for (const { key, value } of chunk) content.set(key, value.toString('latin1'))
    return { applied: content.get(APPLIED_KEY) ?? '', content }
  } finally {
    await snapshot.close()
  }
}

/** Checks that a DR copy stores the same bytes as its primary, except for keys that never leave a cluster. */
export const judgeCopy = async (world: World, above: Member, below: Member): Promise<void> => {
  const [original, copied] = await Promise.all([contentOf(above), contentOf(below)])
  for (const [key, digest] of original)
    if (copied.get(key) !== digest) world.fail(`${below.name} has another value of ${key} than ${above.name}`)
  for (const key of copied.keys())
    if (!original.has(key)) world.fail(`${below.name} has ${key}, which ${above.name} lacks`)
}

/** Returns the hash of every stored value that may leave the cluster, by key. */
export const contentOf = async ({ cluster, name }: Member): Promise<Map<string, string>> => {
  const engine = cluster.server?.host.engine
  if (!engine) throw new Error(`${name} does not run`)
  const content = new Map<string, string>()
  for await (const { category, key, sha256 } of listStored(engine)) if (category !== 'ignored') content.set(key, sha256)
  return content
}
