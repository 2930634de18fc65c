import type { Kind } from '../../src/index.js'
import { waitFor } from '../../src/lab/requests/wait.js'
import type { Member, Status, World } from './model-world.js'

export const KINDS: readonly Kind[] = ['dr', 'performance']

const CONVERGE_MS = 90_000
const STREAM_STATES: ReadonlySet<unknown> = new Set(['idle', 'merkle-diff', 'merkle-sync', 'stream-wals'])
const CONNECTION_STATES: ReadonlySet<unknown> = new Set([
  'ready',
  'connecting',
  'idle',
  'transient_failure',
  'shutdown',
])

/** Returns why a replication status is not possible, or undefined. */
export const findImpossible = (kind: Kind, status: Status): string | undefined => {
  const empty = Object.keys(status).find((field) => status[field] === null)
  if (empty !== undefined) return `${empty} is null`
  switch (status.mode) {
    case 'disabled':
      return Object.keys(status).length === 1 ? undefined : 'a disabled role has details'
    case 'bootstrapping':
      return status.cluster_id ? undefined : 'bootstrapping without a set'
    case 'primary':
      if (status.state !== 'running') return `a primary is ${status.state}`
      if (!status.cluster_id || !/^[0-9a-f]{40}$/.test(String(status.merkle_root)))
        return 'a primary without set or root'
      return `last_${kind}_wal` in status ? undefined : 'a primary without its last index'
    case 'secondary':
      if (!STREAM_STATES.has(status.state)) return `a secondary is ${status.state}`
      if (!CONNECTION_STATES.has(status.connection_state)) return `its connection is ${status.connection_state}`
      return status.cluster_id ? undefined : 'a secondary without a set'
    default:
      return `its mode is ${status.mode}`
  }
}

/** Reads both roles of every running cluster. Fails for an impossible status. */
export const readRoles = async (world: World): Promise<Map<string, Record<Kind, Status>>> => {
  const roles = new Map<string, Record<Kind, Status>>()
  for (const member of world.members.filter(({ cluster }) => cluster.isRunning)) {
    const read = { dr: await world.status(member, 'dr'), performance: await world.status(member, 'performance') }
    for (const kind of KINDS) {
      const reason = findImpossible(kind, read[kind])
      if (reason !== undefined)
        world.fail(`impossible ${kind} status of ${member.name}: ${reason} ${JSON.stringify(read[kind])}`)
    }
    if (isSecondary(read.dr) && read.performance.mode !== 'disabled') {
      world.fail(`${member.name} is a DR secondary and shows its performance role: ${read.performance.mode}`)
    }
    roles.set(member.name, read)
  }
  return roles
}

export const isSecondary = ({ mode }: Status): boolean => mode === 'secondary' || mode === 'bootstrapping'

/** Fails if data was wiped without an enable, or if an epoch has two primaries that are not fenced. */
export const checkInfo = async (world: World): Promise<void> => {
  const primaries = new Map<string, string>()
  for (const member of world.members.filter(({ cluster }) => cluster.isRunning)) {
    const info = await world.info(member)
    const generation = Number(info.storage_generation)
    if (generation !== member.generation && !mayPurge(world, member)) {
      world.fail(`${member.name} was wiped: generation ${generation}, not ${member.generation}`)
    }
    member.generation = generation
    const kinds = info.kinds as Record<Kind, string>
    if (info.fenced !== null || !info.epoch) continue
    for (const kind of KINDS.filter((one) => kinds[one] === 'primary')) {
      const key = `${kind} ${info.epoch}`
      const other = primaries.get(key)
      if (other !== undefined)
        world.fail(`${other} and ${member.name} are both un-fenced ${kind} primaries in epoch ${info.epoch}`)
      primaries.set(key, member.name)
    }
  }
}

/** Clears all faults, starts all clusters, and waits until all secondaries are in sync. Then checks all promises. */
export const settle = async (world: World): Promise<void> => {
  world.lab.heal()
  for (const member of world.members) if (!member.cluster.isRunning) await world.start(member)
  await waitFor(world.lab.clock, 'the world to be at rest', () => findUnsettled(world), CONVERGE_MS).catch(
    (error: unknown) => world.fail(String(error)),
  )
  await checkInfo(world)
  for (const member of world.members) await checkPromises(world, member)
}

/**
 * Returns true if a new storage generation may be the destruction of filtered data. The member may have left that role
 * in the meantime.
 */
const mayPurge = (world: World, member: Member): boolean =>
  world.hasFiltered && (member.joined !== undefined || member.generation > 1)

interface ExpectedPrimary {
  readonly primary: Member
  readonly id: string
}

/** Returns the primary that must serve this secondary, or undefined if no primary must. */
const findExpectedPrimary = async (
  world: World,
  member: Member,
  kind: Kind,
  status: Status,
): Promise<ExpectedPrimary | undefined> => {
  if (!isSecondary(status)) return undefined
  const { joined } = member
  const isJoining = status.mode === 'bootstrapping'
  const address = isJoining
    ? world.members.find(({ name }) => name === joined?.primary)?.cluster.clusterAddress
    : status.primary_cluster_addr
  const primary = world.byAddress(address)
  const id = isJoining ? joined?.id : String(status.secondary_id)
  if (!primary || id === undefined || !primary.cluster.isRunning) return undefined
  const above = await world.status(primary, kind)
  const { fenced } = await world.info(primary)
  const known = Array.isArray(above.known_secondaries) && above.known_secondaries.includes(id)
  const isServed = above.mode === 'primary' && above.cluster_id === status.cluster_id && known && fenced === null
  return isServed && isFree(above, id, member) ? { primary, id } : undefined
}

/**
 * Returns true if no other cluster uses the ID `id` at a primary. A promoted copy keeps the ID permanently: the primary
 * then rejects the cluster that it was a copy of, even after the copy has left.
 */
const isFree = (primary: Status, id: string, { cluster }: Member): boolean => {
  const rows = primary.secondaries as readonly { readonly node_id: string; readonly api_address?: string }[]
  const holder = rows.find(({ node_id: node }) => node === id)?.api_address
  return holder === undefined || holder === '' || holder === cluster.address
}

/**
 * Returns why the lab is not in sync, or undefined. If a cluster and its promoted copy share an ID, only one of them
 * must be in sync.
 */
const findUnsettled = async (world: World): Promise<string | undefined> => {
  const roles = await readRoles(world)
  const lags = new Map<string, string | undefined>()
  for (const member of world.members) {
    const own = roles.get(member.name)
    if (!own) return `${member.name} does not run`
    for (const kind of KINDS) {
      const above = await findExpectedPrimary(world, member, kind, own[kind])
      if (!above) continue
      const key = `${above.primary.name} ${kind} ${above.id}`
      const lag = await world.lag(above.primary, member, kind)
      if (lag === undefined || !lags.has(key))
        lags.set(key, lag && `${member.name} (${kind}, of ${above.primary.name}): ${lag}`)
    }
  }
  return [...lags.values()].find((lag) => lag !== undefined)
}

/** Fails if an acknowledged write or token is missing, or if a token from before a wipe is valid. */
export const checkPromises = async (world: World, member: Member): Promise<void> => {
  const dr = await world.status(member, 'dr')
  const performance = await world.status(member, 'performance')
  if (isSecondary(dr) || performance.mode === 'bootstrapping') return
  for (const token of member.deadTokens) {
    const answer = await world.call(member, 'GET', 'auth/token/lookup-self', undefined, token)
    if (answer?.status === 200) world.fail(`${member.name} takes a root token from before it was wiped`)
  }
  for (const [path, value] of member.writes) {
    const answer = await world.asRoot(member, 'GET', path)
    const read = (answer?.json?.data as { value?: unknown } | undefined)?.value
    if (read !== value) world.fail(`${member.name} lost ${path}: ${answer?.status} ${answer?.bytes}`)
  }
  for (const token of member.tokens) {
    const answer = await world.call(member, 'GET', 'auth/token/lookup-self', undefined, token)
    if (answer?.status !== 200) world.fail(`${member.name} lost a token: ${answer?.status} ${answer?.bytes}`)
  }
  if (performance.mode === 'secondary') await checkCanaries(world, member, performance)
}

/** Fails if a secondary stores a key of a mount that its applied filter withholds. */
const checkCanaries = async (world: World, member: Member, status: Status): Promise<void> => {
  const above = await findExpectedPrimary(world, member, 'performance', status)
  if (!above || (await world.lag(above.primary, member, 'performance')) !== undefined) return
  const filter = await world.asRoot(
    above.primary,
    'GET',
    `sys/replication/performance/primary/paths-filter/${above.id}`,
  )
  const rule = filter?.status === 200 ? (filter.json?.data as { mode: string; paths: string[] }) : undefined
  if (rule?.mode !== 'deny' || !rule.paths.includes('denied/')) return
  const mounts = await world.asRoot(above.primary, 'GET', 'sys/mounts/denied')
  const uuid = (mounts?.json?.data as { uuid?: string } | undefined)?.uuid
  if (mounts?.status !== 200 || !uuid) return
  const found = await member.storage.findText(`logical/${uuid}/`)
  if (found.length > 0) world.fail(`${member.name} holds keys of a denied mount: ${found.slice(0, 5).join(', ')}`)
  world.count('canary looked for')
}
