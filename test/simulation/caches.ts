import { ManualClock } from '../support/manual-clock.js'
import { createSeededRandom } from '../../src/base/random.js'
import { PolicyStore } from '../../src/core/acl/policies.js'
import { ENTITIES } from '../../src/core/identity/identity-record.js'
import { IdentityStore } from '../../src/core/identity/identity.js'
import { MountTable } from '../../src/core/mounts/mount-table.js'
import { NamespaceStore } from '../../src/core/namespaces/namespaces.js'
import { TOKEN_KEYS } from '../../src/core/tokens/token-record.js'
import { TokenTable } from '../../src/core/tokens/token-table.js'
import { ROOT_NAMESPACE } from '../../src/logical/request.js'
import { FilterStore } from '../../src/replication/filter/filter-store.js'
import { SettledFilter } from '../../src/replication/filter/settled-filter.js'
import { readRecord } from '../../src/replication/model/state.js'
import type { OpenCluster } from '../../src/server/wiring/open-cluster.js'
import type { Runtime } from '../../src/server/runtime/runtime.js'
import { Chance } from '../../src/server/simulated/chance.js'
import type { SimulatedNode } from '../../src/server/simulated/node.js'
import { KEYS } from '../../src/storage/keys/key-families.js'
import { grantedBy } from './values.js'
import type { World } from './world.js'

/** The cached value of a part of a server, and the value that a new instance reads from storage. */
type Pairs = Iterable<readonly [name: string, cached: unknown, stored: unknown]>

type ReadPairs = (runtime: Runtime, cluster: OpenCluster) => Pairs | Promise<Pairs>

/** Never used: reading stored values needs no random numbers. */
const UNUSED = createSeededRandom('unused')
const UNUSED_CLOCK = new ManualClock()

/** Returns pairs of rows of two tables. */
const rowsOf = <T>(cached: readonly T[], stored: readonly T[], idOf: (row: T) => string): Pairs => {
  const ids = new Set([...cached, ...stored].map(idOf))
  const rowIn = (rows: readonly T[], id: string) => rows.find((row) => idOf(row) === id)
  return [...ids].map((id) => [id, rowIn(cached, id), rowIn(stored, id)])
}

const CACHES: Readonly<Record<string, ReadPairs>> = {
  mounts: async ({ barrier }, { services }) => {
    const fresh = new MountTable(barrier.view(''), services.namespaces)
    await fresh.load()
    return rowsOf(services.table.all(), fresh.all(), ({ uuid }) => uuid)
  },
  namespaces: async ({ barrier }, { services }) => {
    const fresh = new NamespaceStore(barrier.view(''))
    await fresh.load()
    return rowsOf(services.namespaces.all(), fresh.all(), ({ id }) => id)
  },
  policies: async ({ barrier }, { services }) => {
    const fresh = new PolicyStore({ storage: barrier.view(KEYS.policies) })
    const names = await fresh.list(ROOT_NAMESPACE.id)
    return names.flatMap((name) => {
      const path = grantedBy(fresh.find(ROOT_NAMESPACE.id, name)?.text ?? '')
      if (path === '') return []
      const rightsIn = (store: PolicyStore) => store.aclFor([name], ROOT_NAMESPACE, undefined).capabilities(path)
      return [[name, rightsIn(services.policies), rightsIn(fresh)] as const]
    })
  },
  entities: async ({ barrier }, { services }) => {
    const storage = barrier.view(KEYS.identity)
    const fresh = new IdentityStore({ storage, random: UNUSED, clock: UNUSED_CLOCK })
    const entities = await ENTITIES.list(storage, ROOT_NAMESPACE.id)
    return entities.map(({ id }) => [id, services.identity.findEntity(id), fresh.findEntity(id)])
  },
  tokens: async ({ barrier }, { services }) => {
    const { namespaces, tokens } = services
    const findNamespace = (id: string) => namespaces.findById(id)
    const fresh = new TokenTable({ storage: barrier.view(''), random: UNUSED, findNamespace })
    const keys = await barrier.view('').keys(TOKEN_KEYS.ids)
    return keys.flatMap((key) => {
      const id = key.slice(TOKEN_KEYS.ids.length)
      const found = tokens.findStored(id)
      return found ? [[id, found, fresh.find(id)] as const] : []
    })
  },
  filters: async ({ barrier }, { replication }) => {
    const { filters, settledFilter } = replication.replication.context
    const storage = barrier.view('')
    const fresh = new FilterStore({ storage, mounts: () => [], namespaces: () => [] })
    const ids = await storage.list(KEYS.filters)
    return [
      ['settled', settledFilter.current, new SettledFilter(storage).current],
      ...ids.map((id) => [id, filters.known(id), fresh.known(id)] as const),
    ]
  },
  roles: ({ barrier }, { replication }) => {
    const { records } = replication.replication.context.roles
    const stored = (kind: 'dr' | 'performance') => readRecord(barrier.view(''), kind)
    return [
      ['dr', records.dr, stored('dr')],
      ['performance', records.performance, stored('performance')],
    ]
  },
}

/**
 * Returns the differences between cached and stored values, with both values. Returns none if the server stops or is
 * sealed in the meantime.
 */
const findStale = async (node: SimulatedNode): Promise<readonly string[]> => {
  // A suspended process does not know yet what its disk has done.
  if ((node.clock?.frozenMs ?? 0) > 0) return []
  const runtime = node.server?.runtime
  const cluster = runtime?.cluster
  // While a full disk prevents the storage from being reopened, caches are not notified of its last batch.
  if (!runtime || !cluster || node.server?.labState.disk.state === 'full') return []
  try {
    return await differencesIn(runtime, cluster)
  } catch (error) {
    if (node.server?.runtime === runtime && runtime.cluster === cluster && !runtime.seal.isSealed) throw error
    return []
  }
}

const differencesIn = async (runtime: Runtime, cluster: OpenCluster): Promise<readonly string[]> => {
  const found: string[] = []
  for (const [what, read] of Object.entries(CACHES))
    for (const [name, cached, stored] of await read(runtime, cluster)) {
      const [one, other] = [JSON.stringify(cached), JSON.stringify(stored)]
      if (one !== other) found.push(`${what} ${name}: cached is ${one}, stored is ${other}`)
    }
  return found
}

/**
 * A cache is notified of a write when the disk has responded. A difference that lasts longer than this is permanent.
 */
const PATIENCE_MS = 2_000
/** Maximum pause between two checks, as a fraction of the total time. */
const PAUSE_FRACTION = 0.2

/** The differences found, and the time since when each exists. */
class StaleCaches {
  #since = new Map<string, number>()

  /** Fails for a difference that has existed for too long. */
  async check(world: World): Promise<number> {
    const nowMs = world.clock.monotonic()
    const since = new Map<string, number>()
    for (const node of world.nodes)
      for (const text of await findStale(node)) {
        const stale = `${node.name} has an outdated cache: ${text}`
        since.set(stale, this.#since.get(stale) ?? nowMs)
        if (nowMs - (since.get(stale) ?? nowMs) > PATIENCE_MS) world.fail(stale)
      }
    this.#since = since
    return since.size
  }
}

/** Reads all caches of every server repeatedly. This also fills caches that were empty. */
export const runCacheChecks = async (world: World, endMs: number): Promise<void> => {
  const { clock, plan } = world
  const chance = new Chance(`${plan.seed} looks`)
  const stale = new StaleCaches()
  while (clock.monotonic() < endMs) {
    await stale.check(world)
    await clock.sleep(chance.next() * plan.activeMs * PAUSE_FRACTION)
  }
}

/** Checks at the end, when there are no more writes, that all cached values equal the stored ones. */
export const judgeCaches = async (world: World): Promise<void> => {
  const stale = new StaleCaches()
  while ((await stale.check(world)) > 0) await world.clock.sleep(PATIENCE_MS / 4)
}
