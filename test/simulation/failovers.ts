import type { Kind } from '../../src/lab/model/kinds.js'
import { generateOperationToken } from '../../src/lab/requests/replication.js'
import type { Server } from '../../src/server/server.js'
import { Chance } from '../../src/server/simulated/chance.js'
import { raiseAll } from './faults.js'
import type { Losses } from './losses.js'
import type { FailoverName, Plan } from './plan.js'
import type { Registers } from './registers.js'
import type { Servers } from './servers.js'
import type { Member, World } from './world.js'

const DR = 'sys/replication/dr'
/** Somebody who waits for this long for what does not come does without it. */
const PATIENCE_MS = 20_000
const TRIES_MAX = 6
/** How long a copy whose disk is slow goes on to be told of more than it has. */
const SLOW_MS = 2_000
/** A promoted cluster calls its former primary again after so many heartbeats, and forgets it if it has joined. */
const TOLD_PAUSE_HEARTBEATS = 11
const heartbeatMsOf = ({ settings }: Plan): number => (settings.heartbeat_interval === '1s' ? 1_000 : 100)
/** How much longer a message takes where a link is slow: not so long that a heartbeat is missed. */
const slowLinkMs = ({ settings }: Plan): number => (settings.heartbeat_interval === '1s' ? 500 : 100)

export interface Scene {
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
 * acknowledged is on its successor, even where it dies as soon as it has said so. `spent`: an operation token of the primary from
 * before its last promotion.
 */
export const failOverInCalm = async (world: World, scene: Scene, spent?: string): Promise<void> => {
  const { servers } = scene
  const [before, after] = placesOf(servers)
  world.history.add('', `failover: in calm, from ${before.name} to ${after.name}`)
  await world.until(`${after.name} is to follow`, async () =>
    (await follows(world, after)) ? undefined : 'it does not',
  )
  const chance = new Chance(`${world.plan.seed} calm`)
  const { plan } = world
  const slowMs = new Chance(`${plan.seed} slow link`).pick([0, slowLinkMs(plan)])
  betweenNodes(before, after, (from, to) => world.network.slow(from, to, slowMs))
  const isDrained = await demoteDrained(world, before)
  // Over a slow link the connection may have been given up meanwhile.
  if (!isDrained && slowMs === 0) world.fail(`${before.name} has not waited for ${after.name}, which follows it`)
  if (chance.happens(0.5)) before.cluster.crash(true)
  if (isDrained) {
    await becomes(world, after, 'primary', () => promote(world, after, false))
    servers.changePlaces()
  } else await force(world, scene, after)
  betweenNodes(before, after, (from, to) => world.network.slow(from, to, 0))
  await world.open(before)
  if (spent !== undefined) await judgeSpent(world, before, spent)
  const isFilled = new Chance(`${plan.seed} full disk`).happens(0.25)
  await Promise.all([rejoin(world, scene, chance), ...(isFilled ? [forgetOnFullDisk(world, before, after)] : [])])
}

/** The disk of the promoted cluster is full when it is to forget the former primary, which has joined it by then. */
const forgetOnFullDisk = async (world: World, former: Member, promoted: Member): Promise<void> => {
  const { clock, plan } = world
  const context = () => replicationOf(promoted)?.context
  const isForgotten = () => {
    const record = context()?.roles.record('dr')
    return record?.mode !== 'primary' || record.former === undefined
  }
  const hasJoined = () =>
    (context()?.running.dr.primary?.registry.views() ?? []).some(
      ({ secondaryId, isConnected }) => isConnected && secondaryId === former.name.toLowerCase(),
    )
  const endMs = clock.monotonic() + PATIENCE_MS
  while (!isForgotten() && !hasJoined() && clock.monotonic() < endMs) await clock.sleep(5)
  const disk = promoted.cluster.server?.labState.disk
  if (!disk || isForgotten() || !hasJoined()) return
  disk.state = 'full'
  await clock.sleep(heartbeatMsOf(plan) * TOLD_PAUSE_HEARTBEATS)
  disk.state = 'ok'
  await world.until(`${promoted.name} is to forget the former primary, which has joined`, async () =>
    isForgotten() ? undefined : 'it has not',
  )
}

/** An operation token ends with the promotion that it was made for. */
const judgeSpent = async (world: World, member: Member, spent: string): Promise<void> => {
  const body = { token: '', dr_operation_token: spent }
  const answer = await world.call(member, { method: 'PUT', path: `${DR}/secondary/update-primary`, body, token: '' })
  if (answer && answer.status < 300)
    world.fail(`${member.name} takes an operation token that it made before its last promotion`)
}

/**
 * Demotes and promotes the primary: its secondaries go on with the new epoch. Resolves to the operation token of the promotion;
 * undefined if there was none.
 */
export const promoteAgainInCalm = async (world: World, { servers }: Scene): Promise<string | undefined> => {
  const { primary } = servers
  let token: string | undefined
  world.history.add('', `${primary.name} is demoted and promoted again`)
  await becomes(world, primary, 'secondary', () => demote(world, primary))
  await becomes(world, primary, 'primary', async () => {
    token = await withToken(world, primary, 'promote', {})
  })
  await bringAlong(world, servers)
  // Copies need a token: a promotion makes another authority for them.
  for (const copy of [servers.copy, servers.otherCopy]) if (copy) await follow(world, primary, copy, false)
  return token
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
  /**
   * The copy takes over when others have followed the primary further than it has. They hear late of each other, and the
   * former primary, which may be up, hears last.
   */
  lagging: async (world, scene, chance) => {
    const { servers } = scene
    const [before, after] = placesOf(servers)
    const { clock, network, plan, history } = world
    const pause = () => clock.sleep(chance.next() * plan.activeMs * 0.2)
    const cut = (one: Member, other: Member) => betweenNodes(one, other, (from, to) => network.cut(from, to))
    const restore = (one: Member, other: Member) => betweenNodes(one, other, (from, to) => network.restore(from, to))
    history.add('', `failover: lagging, from ${before.name} to ${after.name}`)
    cut(before, after)
    await pause()
    if (chance.happens(0.3)) before.cluster.crash(chance.happens(0.5))
    if (servers.secondary && chance.happens(0.5)) cut(after, servers.secondary)
    await force(world, scene, after)
    await pause()
    if (servers.secondary) {
      restore(after, servers.secondary)
      // It goes back and forth between the two that it knows.
      for (let times = chance.below(4); times > 0; times--) {
        await pause()
        await tellAddresses(world, servers.secondary, after, before)
        betweenNodes(after, servers.secondary, (from, to) => network.reset(from, to))
        cut(after, servers.secondary)
        await pause()
        restore(after, servers.secondary)
      }
    }
    restore(before, after)
    await world.open(before)
    await rejoin(world, scene, chance)
  },
  /** The primary is dead, and the copy is asked to take over if it has all that it was told of; it is slow to take that in. */
  asked: async (world, scene, chance) => {
    const { servers, registers } = scene
    const [before, after] = placesOf(servers)
    world.history.add('', `failover: asked, from ${before.name} to ${after.name}`)
    const disk = after.cluster.server?.labState.disk
    if (disk) Object.assign(disk, { state: 'slow', delayMs: chance.between(100, 800) })
    await world.clock.sleep(chance.next() * SLOW_MS)
    before.cluster.crash(true)
    servers.beginTerm()
    registers.shake()
    let told = toldTo(after)
    const isTaken = await happens(world, () => {
      told = toldTo(after)
      return promote(world, after, false)
    })
    if (isTaken) {
      await world.open(after)
      judgeTakeOver(world, after, told)
      servers.changePlaces()
    } else await force(world, scene, after)
    await world.open(before)
    await rejoin(world, scene, chance)
  },
  /** The primary is dead, and both of its copies take over, each with some of those that serve; then one follows the other one. */
  double: async (world, scene, chance) => {
    const { servers } = scene
    const [before, after] = placesOf(servers)
    const { otherCopy, secondary } = servers
    if (!otherCopy || !secondary) throw new Error('a second copy is missing')
    const pause = () => world.clock.sleep(chance.next() * world.plan.activeMs * 0.2)
    world.history.add('', `failover: double, from ${before.name} to ${after.name} and ${otherCopy.name}`)
    before.cluster.crash(chance.happens(0.5))
    const away = chance.pick([after, otherCopy])
    betweenNodes(away, secondary, (from, to) => world.network.cut(from, to))
    await force(world, scene, after)
    await becomes(world, otherCopy, 'primary', () => promote(world, otherCopy, true))
    if (new Chance(`${world.plan.seed} told by the former primary`).happens(0.5))
      await learnFromFormer(world, before, [after, otherCopy], secondary)
    await pause()
    betweenNodes(away, secondary, (from, to) => world.network.restore(from, to))
    await pause()
    await follow(world, after, otherCopy, false)
    await world.open(before)
    await rejoin(world, scene, chance)
  },
  /** The copy takes over, whatever it lacks, and whether the primary is dead or not. */
  forced: async (world, scene, chance) => {
    const [before, after] = placesOf(scene.servers)
    world.history.add('', `failover: forced, from ${before.name} to ${after.name}`)
    if (chance.happens(0.5)) before.cluster.crash(chance.happens(0.5))
    await force(world, scene, after)
    await world.clock.sleep(chance.next() * world.plan.activeMs * 0.2)
    if (chance.happens(0.4))
      await world.until(`${before.name} is to hear that it is overtaken`, () => hears(world, before, after))
    await rejoin(world, scene, chance)
  },
}

/** Two that were promoted beside each other hear of each other from nothing but the former primary of both. */
const learnFromFormer = async (
  world: World,
  former: Member,
  promoted: readonly Member[],
  secondary: Member,
): Promise<void> => {
  for (const one of promoted) betweenNodes(one, secondary, (from, to) => world.network.cut(from, to))
  await world.open(former)
  const isFenced = ({ cluster }: Member) => cluster.server?.runtime?.cluster?.replication.view.fence !== undefined
  await world.until(
    `one of ${promoted.map(({ name }) => name).join(' and ')} is to hear of the other one`,
    async () => {
      if (promoted.some(isFenced)) return undefined
      if (world.network.isCalm) await raiseAll(world)
      return 'neither is fenced'
    },
  )
  for (const one of promoted) betweenNodes(one, secondary, (from, to) => world.network.restore(from, to))
}

/** Between two clusters, each way. */
export const betweenNodes = (one: Member, other: Member, work: (from: string, to: string) => void): void => {
  for (const { name: from } of one.cluster.nodes)
    for (const { name: to } of other.cluster.nodes) {
      work(from, to)
      work(to, from)
    }
}

/** Nobody but its successor tells it, which may have died as its disk failed for the last time. */
const hears = async (world: World, former: Member, successor: Member): Promise<string | undefined> => {
  if (world.network.isCalm && !successor.cluster.server) await world.raise(successor)
  return former.cluster.server?.runtime?.cluster?.replication.view.fence
    ? undefined
    : 'it does not know of its successor'
}

export const placesOf = ({ primary, copy }: Servers): readonly [Member, Member] => {
  if (!copy) throw new Error('nobody is there to take over')
  return [primary, copy]
}

export const replicationOf = ({ cluster }: Member) => cluster.server?.runtime?.cluster?.replication.replication

interface Told {
  /** Whom: another one, or it after a start, knows only as much as its disk has kept. */
  readonly server: Server | undefined
  readonly epoch: string
  readonly index: number
}

const toldTo = (after: Member): Told => {
  const { epoch = '', index = 0 } = replicationOf(after)?.context.running.dr.follower?.announced ?? {}
  return { server: after.cluster.server, epoch, index }
}

/** Who takes over without force has all that the primary has told it of. */
const judgeTakeOver = (world: World, after: Member, told: Told): void => {
  if (after.cluster.server !== told.server) return
  const record = replicationOf(after)?.context.roles.record('dr')
  const epoch = record && 'epochs' in record ? record.epochs.at(-1) : undefined
  if (epoch && epoch.parent === told.epoch && epoch.forkIndex < told.index)
    world.fail(`${after.name} took over with ${epoch.forkIndex} of ${told.index} entries that it was told of`)
}

export const force = async (world: World, { servers, registers }: Scene, after: Member): Promise<void> => {
  servers.beginTerm()
  registers.shake()
  await becomes(world, after, 'primary', () => promote(world, after, true))
  servers.changePlaces()
}

/** The former primary, which is the copy now, follows its successor, and so does the second copy. */
export const rejoin = async (world: World, { servers, losses }: Scene, chance: Chance): Promise<void> => {
  const [above, below] = placesOf(servers)
  await becomes(world, below, 'secondary', () => demote(world, below))
  const isAnew = servers.isSettled && chance.happens(0.3)
  if (isAnew) {
    servers.part(below)
    await becomes(world, below, 'disabled', () => withToken(world, below, 'disable', {}))
  }
  await follow(world, above, below, isAnew)
  if (servers.otherCopy && !(await follows(world, servers.otherCopy)))
    await follow(world, above, servers.otherCopy, false)
  await bringAlong(world, servers)
  for (const member of world.members) await losses.collect(world, member)
  servers.settle()
}

/** One that is no primary any more, or never was, is given tokens of the primary until it follows that one. */
const follow = async (world: World, above: Member, below: Member, isAnew: boolean): Promise<void> => {
  const id = below.name.toLowerCase()
  if (!isAnew) await becomes(world, below, 'secondary', () => demote(world, below))
  for (let tries = 1; ; tries++) {
    if (tries > TRIES_MAX) world.fail(`${below.name} does not follow ${above.name}`)
    const token = await issue(world, above, id)
    // An answer that was lost may have made it join with a token that is worth nothing by now.
    const { mode } = await world.status(below, 'dr')
    if (isAnew && mode !== 'bootstrapping' && mode !== 'secondary')
      await world.call(below, { method: 'PUT', path: `${DR}/secondary/enable`, body: { token } })
    else await withToken(world, below, 'update-primary', { token })
    if (await happens(world, () => follows(world, below))) return
    // After a wipe its other nodes are sealed, and one of them may have to be active.
    await raiseAll(world)
  }
}

/** A new activation token for an id, which may be taken: by whoever had it before, or by an answer that was lost. */
const issue = async (world: World, above: Member, id: string): Promise<string> => {
  let token = ''
  await world.until(`${above.name} is to issue a token`, async () => {
    await world.call(above, { method: 'PUT', path: `${DR}/primary/revoke-secondary`, body: { id } })
    const issued = await world.call(above, { method: 'PUT', path: `${DR}/primary/secondary-token`, body: { id } })
    if (issued?.status !== 200) {
      await raiseAll(world)
      return `the answer is ${issued?.status} ${JSON.stringify(issued?.json)}`
    }
    token = (issued.json.wrap_info as { readonly token: string }).token
    return undefined
  })
  return token
}

/** One who was never told of the address at which the primary is now is told by its operator. */
const bringAlong = async (world: World, { primary, secondary }: Servers): Promise<void> => {
  if (!secondary) return
  const isAlong = async () =>
    (await follows(world, secondary, 'performance')) && (await knows(world, primary, secondary))
  for (let tries = 1; !(await happens(world, isAlong)); tries++) {
    if (tries > TRIES_MAX) world.fail(`${secondary.name} does not follow ${primary.name}`)
    await raiseAll(world)
    await tellAddresses(world, secondary, primary)
  }
}

/** Where a secondary is to look for its primary. */
const tellAddresses = (world: World, secondary: Member, ...primaries: readonly Member[]) =>
  world.call(secondary, {
    method: 'PUT',
    path: 'sys/replication/performance/secondary/update-primary',
    body: { update_primary_addrs: primaries.flatMap(({ cluster }) => cluster.clusterAddresses) },
  })

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
    if (after.mode === mode) return undefined
    await raiseAll(world)
    return `it is ${after.mode}`
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

/** What an operator does on a DR secondary, with an operation token that is made for it. Resolves to the token, if there is one. */
const withToken = async (
  world: World,
  member: Member,
  operation: string,
  body: Readonly<Record<string, unknown>>,
): Promise<string | undefined> => {
  const token = await operationToken(world, member)
  if (token === undefined) return undefined
  const path = `${DR}/secondary/${operation}`
  await world.call(member, { method: 'PUT', path, body: { ...body, dr_operation_token: token }, token: '' })
  return token
}

/** Undefined when it does not come about. */
const operationToken = async (world: World, member: Member): Promise<string | undefined> => {
  const path = `${DR}/secondary/generate-operation-token/attempt`
  const known = world.roles.of(member.cluster)
  known.operationTokenBegun()
  try {
    const made = await generateOperationToken(
      async (to, body = {}) => {
        const answer = await world.call(member, { method: 'PUT', path: to, body, token: '' })
        if (!answer || answer.status >= 300) throw new Refused()
        return answer.json as Record<string, unknown>
      },
      [member.unsealKey],
    )
    if (made !== undefined) known.operationTokenMade(made)
    return made
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    // One that is left open would keep the next one from beginning.
    await world.call(member, { method: 'DELETE', path, token: '' })
    return undefined
  }
}
