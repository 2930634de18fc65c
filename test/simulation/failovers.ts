import type { Kind } from '../../src/lab/kinds.js'
import { generateOperationToken } from '../../src/lab/replication.js'
import { Chance } from '../../src/server/simulated/chance.js'
import type { Losses } from './losses.js'
import type { FailoverName } from './plan.js'
import type { Registers } from './registers.js'
import type { Servers } from './servers.js'
import type { Member, World } from './world.js'

const DR = 'sys/replication/dr'
/** Somebody who waits for this long for what does not come does without it. */
const PATIENCE_MS = 20_000
const TRIES_MAX = 6

interface Scene {
  readonly servers: Servers
  readonly registers: Registers
  readonly losses: Losses
  readonly endMs: number
}

/** One operator who has the primary and its copy change places, one failover after the other. */
export const runFailovers = async (world: World, scene: Scene): Promise<void> => {
  const { clock, plan } = world
  const chance = new Chance(`${plan.seed} failovers`)
  for (const name of plan.failovers) {
    await clock.sleep(chance.next() * plan.activeMs * 0.5)
    if (clock.monotonic() >= scene.endMs) return
    await world.act(`failover ${name}`, () => FAILOVERS[name](world, scene, chance))
  }
}

/**
 * When nothing goes wrong, and clients go on to write: the primary says that its copy has everything, and whatever it has
 * acknowledged is on its successor, even where it dies as soon as it has said so.
 */
export const failOverInCalm = async (world: World, scene: Scene): Promise<void> => {
  const { servers } = scene
  const [before, after] = placesOf(servers)
  world.history.add('', `failover: in calm, from ${before.name} to ${after.name}`)
  await world.until(`${after.name} is to follow`, async () =>
    (await follows(world, after)) ? undefined : 'it does not',
  )
  if (!(await demoteDrained(world, before)))
    world.fail(`${before.name} has not waited for ${after.name}, which follows it`)
  const chance = new Chance(`${world.plan.seed} calm`)
  if (chance.happens(0.5)) before.cluster.crash(true)
  await becomes(world, after, 'primary', () => promote(world, after, false))
  servers.changePlaces()
  await world.open(before)
  await rejoin(world, scene, chance)
}

type Failover = (world: World, scene: Scene, chance: Chance) => Promise<void>

const FAILOVERS: Readonly<Record<FailoverName, Failover>> = {
  /** First the primary steps back, which loses nothing. */
  planned: async (world, scene, chance) => {
    const [before, after] = placesOf(scene.servers)
    const isFollowed = await happens(world, () => follows(world, after))
    if (!isFollowed) return
    world.history.add('', `failover: planned, from ${before.name} to ${after.name}`)
    const isDrained = await demoteDrained(world, before)
    // What the copy may lack is on a cluster that gives it to nobody any more.
    if (isDrained && (await happens(world, () => promote(world, after, false)))) scene.servers.changePlaces()
    else await force(world, scene, after)
    await rejoin(world, scene, chance)
  },
  /** The copy takes over, whatever it lacks, and whether the primary is dead or not. */
  forced: async (world, scene, chance) => {
    const [before, after] = placesOf(scene.servers)
    world.history.add('', `failover: forced, from ${before.name} to ${after.name}`)
    if (chance.happens(0.5)) before.cluster.crash(chance.happens(0.5))
    await force(world, scene, after)
    await world.clock.sleep(chance.next() * world.plan.activeMs * 0.2)
    if (chance.happens(0.4)) await world.until(`${before.name} is to hear that it is overtaken`, () => hears(before))
    await rejoin(world, scene, chance)
  },
}

/** Nobody but its successor tells it. */
const hears = async (former: Member): Promise<string | undefined> =>
  former.cluster.server?.runtime?.cluster?.replication.view.fence ? undefined : 'it does not know of its successor'

const placesOf = ({ primary, copy }: Servers): readonly [Member, Member] => {
  if (!copy) throw new Error('nobody is there to take over')
  return [primary, copy]
}

const force = async (world: World, { servers, registers }: Scene, after: Member): Promise<void> => {
  servers.beginTerm()
  registers.shake()
  await becomes(world, after, 'primary', () => promote(world, after, true))
  servers.changePlaces()
}

/** The former primary, which is the copy now, follows its successor. */
const rejoin = async (world: World, { servers, losses }: Scene, chance: Chance): Promise<void> => {
  const [above, below] = placesOf(servers)
  const id = below.name.toLowerCase()
  await becomes(world, below, 'secondary', () => demote(world, below))
  const isAnew = servers.isSettled && chance.happens(0.3)
  if (isAnew) await becomes(world, below, 'disabled', () => withToken(world, below, 'disable', {}))
  for (let tries = 1; ; tries++) {
    if (tries > TRIES_MAX) world.fail(`${below.name} does not follow ${above.name}`)
    await world.call(above, { method: 'PUT', path: `${DR}/primary/revoke-secondary`, body: { id } })
    const issued = await world.persist(above, { method: 'PUT', path: `${DR}/primary/secondary-token`, body: { id } })
    const { token } = issued.json.wrap_info as { readonly token: string }
    if (isAnew) await world.call(below, { method: 'PUT', path: `${DR}/secondary/enable`, body: { token } })
    else await withToken(world, below, 'update-primary', { token })
    if (await happens(world, () => follows(world, below))) break
    // After a wipe its other nodes are sealed, and one of them may have to be active.
    if (below.cluster.hasNodes) await world.raise(below)
  }
  await bringAlong(world, servers)
  for (const member of world.members) await losses.collect(world, member)
  servers.settle()
}

/** One who was never told of the address at which the primary is now is told by its operator. */
const bringAlong = async (world: World, { primary, secondary }: Servers): Promise<void> => {
  if (!secondary) return
  const body = { update_primary_addrs: primary.cluster.clusterAddresses }
  const path = 'sys/replication/performance/secondary/update-primary'
  const isAlong = async () =>
    (await follows(world, secondary, 'performance')) && (await knows(world, primary, secondary))
  for (let tries = 1; !(await happens(world, isAlong)); tries++) {
    if (tries > TRIES_MAX) world.fail(`${secondary.name} does not follow ${primary.name}`)
    await world.call(secondary, { method: 'PUT', path, body })
  }
}

const follows = async (world: World, below: Member, kind: Kind = 'dr'): Promise<boolean> => {
  const { mode, state, connection_state: link } = await world.status(below, kind)
  return mode === 'secondary' && state === 'stream-wals' && link === 'ready'
}

/** Who follows may have somebody else in mind, or nobody yet: the primary says whom it sees. */
const knows = async (world: World, primary: Member, { name }: Member): Promise<boolean> => {
  const { secondaries = [] } = await world.status(primary, 'performance')
  return (secondaries as readonly Readonly<Record<string, unknown>>[]).some(
    (row) => row.node_id === name.toLowerCase() && row.connection_status === 'connected',
  )
}

/** Whether a fact comes to be in good time. */
const happens = async (world: World, isSo: () => Promise<boolean>): Promise<boolean> => {
  const endMs = world.clock.monotonic() + PATIENCE_MS
  while (!(await isSo())) {
    if (world.clock.monotonic() > endMs) return false
    await world.clock.sleep(200)
  }
  return true
}

/** Does it until the member has this mode, which an answer that was lost may have brought about. */
const becomes = (world: World, member: Member, mode: string, work: () => Promise<unknown>): Promise<void> =>
  world.until(`${member.name} is to be ${mode}`, async () => {
    const before = await world.status(member, 'dr')
    if (before.mode === mode) return undefined
    if (before.mode !== undefined) await work()
    const after = await world.status(member, 'dr')
    return after.mode === mode ? undefined : `it is ${after.mode}`
  })

/** Whether the primary has said that its copy had everything. */
const demoteDrained = async (world: World, member: Member): Promise<boolean> => {
  let isDrained = false
  await becomes(world, member, 'secondary', async () => {
    const answer = await demote(world, member)
    const warnings = (answer?.json.warnings ?? []) as readonly string[]
    isDrained = answer?.status === 200 && !warnings.some((text) => text.startsWith('Not every secondary'))
  })
  return isDrained
}

const demote = (world: World, member: Member) => world.call(member, { method: 'PUT', path: `${DR}/primary/demote` })

const promote = async (world: World, member: Member, isForced: boolean): Promise<boolean> => {
  const { mode } = await world.status(member, 'dr')
  if (mode === 'primary') return true
  await withToken(world, member, 'promote', isForced ? { force: true } : {})
  return (await world.status(member, 'dr')).mode === 'primary'
}

class Refused extends Error {}

/** What an operator does on a DR secondary, with an operation token that is made for it. */
const withToken = async (
  world: World,
  member: Member,
  operation: string,
  body: Readonly<Record<string, unknown>>,
): Promise<void> => {
  const token = await operationToken(world, member)
  if (token === undefined) return
  const path = `${DR}/secondary/${operation}`
  await world.call(member, { method: 'PUT', path, body: { ...body, dr_operation_token: token }, token: '' })
}

/** Undefined when it does not come about. */
const operationToken = async (world: World, member: Member): Promise<string | undefined> => {
  const path = `${DR}/secondary/generate-operation-token/attempt`
  try {
    return await generateOperationToken(
      async (to, body = {}) => {
        const answer = await world.call(member, { method: 'PUT', path: to, body, token: '' })
        if (!answer || answer.status >= 300) throw new Refused()
        return answer.json as Record<string, unknown>
      },
      [member.unsealKey],
    )
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    // One that is left open would keep the next one from beginning.
    await world.call(member, { method: 'DELETE', path, token: '' })
    return undefined
  }
}
