import { afterAll, beforeAll, expect, test } from 'vitest'
import { systemClock } from '../../../src/base/clock.js'
import { createSystemRandom } from '../../../src/base/random.js'
import { dataPrefix, entryKey, type MountEntry, type MountKind } from '../../../src/core/mounts/mount-entry.js'
import { GROUPS, MEMBER_KEYS, replaceGroup } from '../../../src/core/identity/group-record.js'
import { ENTITIES } from '../../../src/core/identity/identity-record.js'
import type { RateQuota } from '../../../src/core/quotas/quota-record.js'
import { decodeToken, encodeToken } from '../../../src/core/tokens/token-codec.js'
import { TOKEN_KEYS } from '../../../src/core/tokens/token-record.js'
import { dispatch } from '../../../src/logical/dispatch.js'
import type { JsonObject } from '../../../src/logical/json.js'
import { ROOT_NAMESPACE } from '../../../src/logical/request.js'
import { replicationCaches } from '../../../src/replication/runtime/caches.js'
import { recordKey } from '../../../src/replication/model/state.js'
import type { Runtime } from '../../../src/server/runtime/runtime.js'
import type { Server } from '../../../src/server/server.js'
import { coreCaches, type OpenCluster } from '../../../src/server/wiring/open-cluster.js'
import { Barrier } from '../../../src/storage/barrier/barrier.js'
import type { Engine } from '../../../src/storage/engine/engine.js'
import { categoryOf, findFamily, KEYS } from '../../../src/storage/keys/key-families.js'
import type { WalEntry } from '../../../src/storage/keys/replicable.js'
import { fillEngine } from '../../../src/server/data/cluster-image.js'
import { makeRequest } from '../../support/backend-harness.js'
import { sourceWith, startOpenServer } from '../../support/memory-server.js'
import { until } from '../../support/until.js'
import { entriesAfter, GatedEngine, openFixture } from '../storage/fixture.js'

/**
 * All caches of stored values follow every commit, wherever it comes from: no read after a commit returns the cached
 * value from before it.
 */

interface Probe {
  readonly key: string
  /** Writes a value that the key never had, and reads its effect. */
  readonly next: (
    turn: number,
  ) => { readonly value: Buffer; readonly shows: unknown } | Promise<{ value: Buffer; shows: unknown }>
  readonly read: () => unknown
  /** True if an own write takes effect without the cache. */
  readonly skipsOwn?: true
  /** The value after a start, independent of the stored data. */
  readonly atStart?: unknown
}

/** Values of these keys are not cached, or only together with the stored bytes from which they were made. */
const READ_ANEW = 'read anew'
/** Created once, before the first read. */
const CONSTANT = 'constant'

/** A whole server. Its open cluster is a new one after each start. */
interface Subject {
  readonly server: Server
  readonly engine: GatedEngine
  readonly runtime: Runtime
  readonly cluster: OpenCluster
}

let subject: Subject
let probes: Readonly<Record<string, Probe>>

const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value))

const startSubject = async (): Promise<Subject> => {
  let engine: GatedEngine
  const data = sourceWith((source) => {
    engine = new GatedEngine(source.engine)
    return {
      get engine() {
        return engine
      },
      async replace(prepare) {
        engine = new GatedEngine(await source.replace(prepare))
        return engine
      },
    }
  })
  const { server } = await startOpenServer({ data })
  const requireOpen = <T>(part: T | undefined): T => {
    if (part === undefined) throw new Error('the server is not open')
    return part
  }
  return {
    server,
    get engine() {
      return engine
    },
    get runtime() {
      return requireOpen(server.runtime)
    },
    get cluster() {
      return requireOpen(server.runtime?.cluster)
    },
  }
}

const rateQuota = (rate: number): RateQuota => ({
  name: 'q',
  namespaceId: 'root',
  mountUuid: '',
  suffix: 'x',
  role: '',
  inheritable: false,
  rate: rate * 1e6,
  intervalSeconds: 1,
  blockSeconds: 0,
})

const core = () => subject.cluster.services
const replication = () => subject.cluster.replication.replication.context

const rootKeyOf = ({ seal: { rootKey } }: Runtime): Buffer => {
  if (!rootKey) throw new Error('no root key')
  return rootKey
}

/** Opens a barrier of another cluster of the set with the same values of these keys. */
const openTwin = async (keys: readonly string[]) => {
  const { store } = await openFixture()
  const barrier = new Barrier({ store, clock: systemClock, random: createSystemRandom() })
  const { rootKey, records } = subject.runtime.seal.keys.exportMaterial(rootKeyOf(subject.runtime))
  await store.importMutations(records)
  barrier.unseal(rootKey)
  const known = keys.filter((key) => key !== KEYS.keyring)
  await store.importMutations(known.map((key) => ({ key, value: subject.runtime.store.get(key) })))
  return { store, barrier }
}

type Values = ReadonlyMap<string, Buffer>

/** Returns what another cluster of the set logs and stores for these values. */
const writeElsewhere = async (
  values: Values,
): Promise<{ entries: readonly WalEntry[]; stored: { key: string; value: Buffer | undefined }[] }> => {
  const { store, barrier } = await openTwin([...values.keys()])
  const { index } = store.position
  await writeTo(barrier, values)
  const stored = [...values.keys()].map((key) => ({ key, value: store.get(key) }))
  return { entries: await entriesAfter(store, index), stored }
}

const writeTo = async (barrier: Barrier, values: Values): Promise<void> => {
  await barrier.write((tx) => {
    for (const [key, value] of values) tx.put(key, value)
  })
}

const writeHere = (values: Values): Promise<void> => writeTo(subject.runtime.barrier, values)

const REMOTE = { index: 7, hash: Buffer.alloc(20, 7), epoch: 'elsewhere' }

/** Writes values into a copy of all data before the copy is opened. */
const fillCopy = async (fresh: Engine, old: Engine, rootKey: Buffer, values: Values): Promise<void> => {
  await fillEngine(fresh, old.scan({}))
  const { store } = await openFixture({ engine: fresh })
  const barrier = new Barrier({ store, clock: systemClock, random: createSystemRandom() })
  barrier.unseal(rootKey)
  await writeTo(barrier, values)
  await store.close()
}

interface Way {
  readonly commit: (values: Values) => Promise<void>
  /** Selects the values that this kind of change does not affect. */
  readonly leavesOut?: (probe: Probe) => boolean
  readonly isStart?: true
}

/** Returns true for keys that no other cluster of the set writes. */
const isOwnAlone = ({ key }: Probe): boolean => categoryOf(key) === 'ignored'

/** The ways in which stored values can change. */
const WAYS: Readonly<Record<string, Way>> = {
  'a write of its own': {
    leavesOut: ({ skipsOwn }) => skipsOwn === true,
    commit: writeHere,
  },
  'a frame that is followed': {
    leavesOut: isOwnAlone,
    async commit(values) {
      const { entries } = await writeElsewhere(values)
      expect(await subject.runtime.store.applyEntries(entries, REMOTE)).toBe(true)
    },
  },
  'a resync': {
    leavesOut: isOwnAlone,
    async commit(values) {
      await subject.runtime.store.importMutations((await writeElsewhere(values)).stored, REMOTE)
    },
  },
  'a resync in several steps, shown at its end': {
    leavesOut: isOwnAlone,
    async commit(values) {
      const { store } = subject.runtime
      const { stored } = await writeElsewhere(values)
      store.holdReads()
      for (const mutation of stored) {
        await store.importMutations([mutation])
        await readAll()
      }
      await store.importMutations([], REMOTE)
    },
  },
  'a batch that failed and was found on the disk': {
    async commit(values) {
      const failure = new Error('the disk does not answer')
      const { engine } = subject
      engine.lateFailure = failure
      await expect(writeHere(values)).rejects.toBe(failure)
      await readAll()
      engine.lateFailure = undefined
      await until(isWritable)
    },
  },
  'another start, as a change of role makes it': {
    isStart: true,
    async commit(values) {
      await writeHere(values)
      subject.server.host.restart('a test')
      await subject.server.host.settled()
    },
  },
  'a start on data that takes the place of what is there': {
    isStart: true,
    async commit(values) {
      const known = Buffer.from(rootKeyOf(subject.runtime))
      await subject.server.host.replaceData('a test', {
        rootKeyAfter: () => known,
        prepare: (fresh, old) => fillCopy(fresh, old, known, values),
      })
      await subject.server.host.settled()
    },
  },
}

const isWritable = () =>
  subject.runtime.barrier
    .write((tx) => tx.put('cubbyhole/x/y', Buffer.from('1')))
    .then(
      () => true,
      () => false,
    )

const TURNS = Object.keys(WAYS).map((_, at) => at + 1)

const enableMount = (kind: MountKind, type: string, path: string, isLocal: boolean): Promise<MountEntry> =>
  core().mounts.enable(kind, ROOT_NAMESPACE, path, {
    type,
    description: '',
    config: {},
    options: null,
    isLocal,
    sealWrap: false,
    externalEntropyAccess: false,
  })

const ask = async (entry: MountEntry, operation: 'read' | 'create' | 'update', path: string, body: JsonObject = {}) => {
  const backend = core().router.findByUuid(entry.uuid)?.backend
  if (!backend) throw new Error('the mount is not open')
  return dispatch(backend, makeRequest(operation, path, body), path)
}

/** Probes whether the mount is found. */
const mountProbe = async (kind: MountKind, isLocal: boolean): Promise<Probe> => {
  const type = kind === 'auth' ? 'approle' : 'kv'
  const name = `${kind}-${isLocal}`
  const entry = await enableMount(kind, type, `${name}-0/`, isLocal)
  const prefix = kind === 'auth' ? 'auth/' : ''
  return {
    key: entryKey(entry),
    next: (turn) => ({ value: json({ ...entry, path: `${name}-${turn}/` }), shows: [turn] }),
    read: () =>
      [0, ...TURNS].filter(
        (turn) => core().router.find(ROOT_NAMESPACE, `${prefix}${name}-${turn}/x`)?.mount.entry.uuid === entry.uuid,
      ),
  }
}

/** Probes the settings of a mount. */
const configProbe = async (isLocal: boolean): Promise<Probe> => {
  const entry = await enableMount('secret', 'kv-v2', `kv2-${isLocal}/`, isLocal)
  return {
    key: `${dataPrefix(entry)}config`,
    next: (turn) => ({
      value: json({ maxVersions: turn, casRequired: false, deleteVersionAfterSeconds: 0 }),
      shows: { max_versions: turn, cas_required: false, delete_version_after: '0s' },
    }),
    read: async () => (await ask(entry, 'read', 'config'))?.data,
  }
}

/** Probes whether the role is found by a hash with the salt of its mount. */
const saltProbe = async (isLocal: boolean): Promise<Probe> => {
  const entry = await enableMount('auth', 'approle', `salted-${isLocal}/`, isLocal)
  const cidr = { bind_secret_id: false, secret_id_bound_cidrs: '127.0.0.0/8' }
  await ask(entry, 'create', 'role/r', { ...cidr, role_id: 'r' })
  const key = `${dataPrefix(entry)}salt`
  const salt = subject.runtime.barrier.get(key)
  if (!salt) throw new Error('no salt')
  return {
    key,
    next: (turn) => (turn % 2 === 0 ? { value: salt, shows: true } : { value: Buffer.from(`${turn}`), shows: false }),
    read: () =>
      ask(entry, 'update', 'login', { role_id: 'r' }).then(
        () => true,
        () => false,
      ),
  }
}

const auditProbe = (prefix: string, isLocal: boolean): Probe => {
  const record = { path: `a-${isLocal}/`, type: 'file', isLocal, options: { file_path: 'discard' } }
  return {
    key: `${prefix}a-${isLocal}`,
    next: (turn) => ({ value: json({ ...record, description: `${turn}`, salt: `${turn}` }), shows: `${turn}` }),
    read: () =>
      core()
        .audit.list()
        .find(({ path }) => path === record.path)?.description,
  }
}

const tokenProbes = async (): Promise<Probe[]> => {
  const { tokens } = core()
  const { id } = await tokens.createRoot()
  const storageId = tokens.find(id)?.storageId ?? ''
  const { barrier } = subject.runtime
  const record = barrier.get(TOKEN_KEYS.id(storageId))
  const salt = barrier.get(TOKEN_KEYS.salt)
  if (!record || !salt) throw new Error('no token')
  const stored = decodeToken(record)
  return [
    {
      key: TOKEN_KEYS.id(storageId),
      next: (turn) => ({ value: encodeToken({ ...stored, displayName: `${turn}` }), shows: `${turn}` }),
      read: () => core().tokens.findStored(storageId)?.displayName,
    },
    {
      key: TOKEN_KEYS.salt,
      next: (turn) => (turn % 2 === 0 ? { value: salt, shows: true } : { value: Buffer.from(`${turn}`), shows: false }),
      read: () => core().tokens.find(id) !== undefined,
    },
  ]
}

const identityProbes = async (): Promise<Probe[]> => {
  const { identity } = core()
  const alias = { mountAccessor: 'auth_approle_1', name: 'alias', namespaceId: 'root' }
  const entity = await identity.findOrCreate({ ...alias, metadata: {} })
  const others = await Promise.all(
    TURNS.map((turn) => identity.findOrCreate({ ...alias, name: `other-${turn}`, metadata: {} })),
  )
  const member = await identity.findOrCreate({ ...alias, name: 'member', metadata: {} })
  const makeGroup = (name: string, memberEntityIds: readonly string[] = []) =>
    identity.write((tx) => {
      const made = identity.newRecords.group(tx, { type: 'internal', namespaceId: 'root', name })
      const group = { ...made, policies: [name], memberEntityIds }
      replaceGroup(tx, undefined, group)
      return group
    })
  const groups = await Promise.all(TURNS.map((turn) => makeGroup(`group-${turn}`)))
  const changed = await makeGroup('changed', [member.id])
  return [
    {
      key: KEYS.identity + ENTITIES.key(entity.id),
      next: (turn) => ({ value: json({ ...entity, metadata: { turn: `${turn}` } }), shows: { turn: `${turn}` } }),
      read: () => core().identity.findEntity(entity.id)?.metadata,
    },
    {
      key: KEYS.identity + ENTITIES.aliasKey(alias),
      next: (turn) => ({ value: json(others[turn - 1]?.id), shows: others[turn - 1]?.id }),
      read: () => core().identity.findByAlias(alias)?.id,
    },
    {
      key: KEYS.identity + MEMBER_KEYS.member(entity.id),
      next: (turn) => ({ value: json([groups[turn - 1]?.id]), shows: groups[turn - 1]?.policies }),
      read: () => core().identity.policiesOf({ entityId: entity.id, namespace: ROOT_NAMESPACE }),
    },
    {
      key: KEYS.identity + GROUPS.key(changed.id),
      next: (turn) => ({ value: json({ ...changed, policies: [`changed-${turn}`] }), shows: [`changed-${turn}`] }),
      read: () => core().identity.policiesOf({ entityId: member.id, namespace: ROOT_NAMESPACE }),
    },
  ]
}

/** Probes by family of keys. A new family must state how its cached values follow. */
const makeProbes = async (): Promise<
  Readonly<Record<keyof typeof KEYS, readonly Probe[] | typeof READ_ANEW | typeof CONSTANT>>
> => {
  return {
    sealConfig: READ_ANEW,
    shareWrappedRoot: READ_ANEW,
    autopilot: READ_ANEW,
    revokedNodes: READ_ANEW,
    peers: READ_ANEW,
    webSettings: READ_ANEW,
    keyRotation: READ_ANEW,
    autoSnapshots: READ_ANEW,
    keyring: [
      {
        key: KEYS.keyring,
        async next(turn) {
          const twin = await openTwin([])
          await twin.barrier.rotate()
          return { value: twin.store.get(KEYS.keyring) ?? Buffer.alloc(0), shows: 1 + turn }
        },
        read: () => subject.runtime.barrier.activeTerm.term,
      },
    ],
    autoWrappedRoot: READ_ANEW,
    sharesBackup: READ_ANEW,
    clusterIdentity: CONSTANT,
    nodeAuthority: CONSTANT,
    namespaces: [
      {
        key: `${KEYS.namespaces}n1`,
        next: (turn) => ({ value: json({ id: 'n1', path: `n1-${turn}/`, customMetadata: {} }), shows: `n1-${turn}/` }),
        read: () =>
          core()
            .namespaces.all()
            .find(({ path }) => path.startsWith('n1') && core().namespaces.find(path))?.path,
      },
    ],
    mounts: [await mountProbe('secret', false)],
    authMounts: [await mountProbe('auth', false)],
    localMounts: [await mountProbe('secret', true)],
    localAuthMounts: [await mountProbe('auth', true)],
    secretData: [await configProbe(false)],
    authData: [await saltProbe(false)],
    localSecretData: [await configProbe(true)],
    localAuthData: [await saltProbe(true)],
    cleanupOrders: READ_ANEW,
    localCleanupOrders: READ_ANEW,
    audit: [auditProbe(KEYS.audit, false)],
    localAudit: [auditProbe(KEYS.localAudit, true)],
    auditedHeaders: [
      {
        key: KEYS.auditedHeaders,
        next: (turn) => ({ value: json({ [`x-${turn}`]: { hmac: false } }), shows: [`x-${turn}`] }),
        read: () => [...core().audit.headers.all().keys()],
      },
    ],
    policies: [
      {
        key: `${KEYS.policies}root/p`,
        next: (turn) => ({
          value: json({ text: `path "at-${turn}" { capabilities = ["read"] }` }),
          shows: [`at-${turn}`],
        }),
        read() {
          const acl = core().policies.aclFor(['p'], ROOT_NAMESPACE, undefined)
          return TURNS.map((turn) => `at-${turn}`).filter((path) => acl.capabilities(path).includes('read'))
        },
      },
    ],
    passwordPolicies: READ_ANEW,
    quotas: [
      {
        key: `${KEYS.quotas}config`,
        next: (turn) => ({
          value: json({ isAuditing: false, sendsHeaders: false, exemptPaths: [`at-${turn}`], absoluteExemptPaths: [] }),
          shows: [`at-${turn}`],
        }),
        read: () => core().quotas.config.exemptPaths,
      },
      {
        key: `${KEYS.quotas}rate-limit/q`,
        next: (turn) => ({ value: json(rateQuota(turn)), shows: turn * 1e6 }),
        read: () => core().quotas.find('rate-limit', 'q')?.rate,
      },
    ],
    identity: await identityProbes(),
    tokens: await tokenProbes(),
    leases: READ_ANEW,
    secretLeases: READ_ANEW,
    cubbyholes: READ_ANEW,
    tokenRoles: READ_ANEW,
    wrappingKey: READ_ANEW,
    performanceRole: [
      {
        key: recordKey('performance'),
        next: (turn) => ({ value: json({ mode: 'disabled', turn }), shows: { mode: 'disabled', turn } }),
        read: () => replication().roles.record('performance'),
        skipsOwn: true,
      },
    ],
    // No other writer exists.
    drRole: CONSTANT,
    filters: [
      {
        key: `${KEYS.filters}c`,
        next: (turn) => ({
          value: json({ mode: 'deny', paths: [`${turn}/`], retired: [], revision: turn }),
          shows: [`${turn}/`],
        }),
        read: () => replication().filters.find('c')?.paths,
      },
    ],
    operationToken: READ_ANEW,
    devRoot: READ_ANEW,
    losses: READ_ANEW,
    announced: READ_ANEW,
    alignment: READ_ANEW,
    settledFilter: [
      {
        key: KEYS.settledFilter,
        next: (turn) => ({ value: json({ digest: `${turn}` }), shows: `${turn}` }),
        read: () => replication().settledFilter.current.digest,
        // This cluster has no primary.
        atStart: '',
      },
    ],
    purgeMark: READ_ANEW,
    treeMaintenance: READ_ANEW,
  }
}

const readAll = async (): Promise<Record<string, unknown>> => {
  const read = Object.entries(probes).map(async ([name, probe]) => [name, await probe.read()] as const)
  return Object.fromEntries(await Promise.all(read))
}

beforeAll(async () => {
  subject = await startSubject()
  const made = Object.entries(await makeProbes()).flatMap(([family, list]) =>
    typeof list === 'string' ? [] : list.map((probe, at) => [`${family} ${at}`, probe] as const),
  )
  probes = Object.fromEntries(made)
})

afterAll(() => subject.server.close(0))

test('the test covers every owner of keys with a change listener', () => {
  const followed = [
    ...Object.keys(coreCaches(core(), { onLeft: () => {}, onRemoved: () => {} })),
    ...Object.keys(replicationCaches(replication())),
    'seal',
  ]
  const tried = Object.values(probes).map(({ key }) => findFamily(key)?.owner)
  expect([...new Set(tried)].sort()).toEqual(followed.sort())
})

test.each(Object.entries(WAYS).map(([name, way], at) => ({ name, way, turn: at + 1 })))(
  'cached values follow $name',
  async ({ way, turn }) => {
    const before = await readAll()
    const values = new Map<string, Buffer>()
    const expected: Record<string, unknown> = { ...before }
    for (const [name, probe] of Object.entries(probes)) {
      if (way.leavesOut?.(probe)) continue
      const { value, shows } = await probe.next(turn)
      expect(shows, `${name} would not tell`).not.toEqual(before[name])
      values.set(probe.key, value)
      expected[name] = way.isStart ? (probe.atStart ?? shows) : shows
    }
    await way.commit(values)
    expect(await readAll()).toEqual(expected)
  },
)
