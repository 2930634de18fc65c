import type { Kind } from '../../src/lab/model/kinds.js'
import { generateOperationToken } from '../../src/lab/requests/replication.js'
import type { Server } from '../../src/server/server.js'
import { Chance } from '../../src/server/simulated/chance.js'
import { startAndUnsealAll } from './faults.js'
import type { Losses } from './losses.js'
import type { FailoverName, Plan } from './plan.js'
import type { Registers } from './registers.js'
import type { Servers } from './servers.js'
import type { Member, World } from './world.js'

const DR = 'sys/replication/dr'
/** Maximum time that an operator waits for a condition before continuing without it. */
const PATIENCE_MS = 20_000
const TRIES_MAX = 6
/** How long a copy with a slow disk keeps receiving announcements of entries that it does not have. */
const SLOW_MS = 2_000
/** After this many heartbeats, a promoted cluster calls its former primary again, and forgets it if it has joined. */
const RECALL_HEARTBEATS = 11
const heartbeatMsOf = ({ settings }: Plan): number => (settings.heartbeat_interval === '1s' ? 1_000 : 100)
/** Additional latency of a slow link; low enough that no heartbeat is missed. */
const slowLinkMs = ({ settings }: Plan): number => (settings.heartbeat_interval === '1s' ? 500 : 100)

export interface FailoverContext {
  readonly servers: Servers
  readonly registers: Registers
  readonly losses: Losses
  readonly endMs: number
}

/** An operator who switches over between the primary and its copy repeatedly. */
export const runFailovers = async (world: World, context: FailoverContext): Promise<void> => {
  const { clock, plan } = world
  const chance = new Chance(`${plan.seed} failovers`)
  for (const name of plan.failovers) {
    await clock.sleep(chance.next() * plan.activeMs * 0.5)
    if (clock.monotonic() >= context.endMs) return
    await world.act(`failover ${name}`, () => FAILOVERS[name](world, context, chance))
  }
}

/**
 * Switches over while nothing fails and clients continue to write. The primary must report that its copy has applied
 * everything. All acknowledged writes must be on the successor, even if the former primary crashes right after its
 * response. `spent`: an operation token of the primary from before its last promotion.
 */
export const failOverInCalm = async (world: World, context: FailoverContext, usedToken?: string): Promise<void> => {
  const { servers } = context
  const [before, after] = primaryAndCopyOf(servers)
  world.history.add('', `failover: in calm, from ${before.name} to ${after.name}`)
  await world.until(`${after.name} is to follow`, async () =>
    (await follows(world, after)) ? undefined : 'it does not',
  )
  const chance = new Chance(`${world.plan.seed} calm`)
  const { plan } = world
  const slowMs = new Chance(`${plan.seed} slow link`).pick([0, slowLinkMs(plan)])
  betweenNodes(before, after, (from, to) => world.network.slow(from, to, slowMs))
  const isDrained = await demoteDrained(world, before)
  // Over a slow link, the connection may have been closed in the meantime.
  if (!isDrained && slowMs === 0) world.fail(`${before.name} did not wait for ${after.name}, which follows it`)
  if (chance.happens(0.5)) before.cluster.crash(true)
  if (isDrained) {
    await untilMode(world, after, 'primary', () => promote(world, after, false))
    servers.swapRoles()
  } else await force(world, context, after)
  betweenNodes(before, after, (from, to) => world.network.slow(from, to, 0))
  await world.open(before)
  if (usedToken !== undefined) await judgeUsedToken(world, before, usedToken)
  const hasFullDisk = new Chance(`${plan.seed} full disk`).happens(0.25)
  await Promise.all([rejoin(world, context, chance), ...(hasFullDisk ? [forgetOnFullDisk(world, before, after)] : [])])
}

/**
 * Fills the disk of the promoted cluster when it must remove the former primary from its record. The former primary has
 * joined by then.
 */
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
  await clock.sleep(heartbeatMsOf(plan) * RECALL_HEARTBEATS)
  disk.state = 'ok'
  await world.until(`${promoted.name} is to forget the former primary, which has joined`, async () =>
    isForgotten() ? undefined : 'it has not',
  )
}

/** Checks that an operation token is invalid after the promotion it was created for. */
const judgeUsedToken = async (world: World, member: Member, usedToken: string): Promise<void> => {
  const body = { token: '', dr_operation_token: usedToken }
  const answer = await world.call(member, { method: 'PUT', path: `${DR}/secondary/update-primary`, body, token: '' })
  if (answer && answer.status < 300)
    world.fail(`${member.name} accepts an operation token from before its last promotion`)
}

/**
 * Demotes and promotes the primary. Its secondaries must continue in the new epoch. Resolves to the operation token of
 * the promotion; undefined if there was none.
 */
export const promoteAgainInCalm = async (world: World, { servers }: FailoverContext): Promise<string | undefined> => {
  const { primary } = servers
  let token: string | undefined
  world.history.add('', `${primary.name} is demoted and promoted again`)
  await untilMode(world, primary, 'secondary', () => demote(world, primary))
  await untilMode(world, primary, 'primary', async () => {
    token = await withToken(world, primary, 'promote', {})
  })
  await moveSecondary(world, servers)
  // Copies need a new token, because a promotion creates a new authority for them.
  for (const copy of [servers.copy, servers.otherCopy]) if (copy) await follow(world, primary, copy, false)
  return token
}

type Failover = (world: World, context: FailoverContext, chance: Chance) => Promise<void>

const FAILOVERS: Readonly<Record<FailoverName, Failover>> = {
  /** Demotes the primary first, which loses nothing. */
  planned: async (world, context, chance) => {
    const [before, after] = primaryAndCopyOf(context.servers)
    const isFollowed = await becomesTrue(world, () => follows(world, after))
    if (!isFollowed) return
    world.history.add('', `failover: planned, from ${before.name} to ${after.name}`)
    const isDrained = await demoteDrained(world, before)
    // The entries that the copy may lack are on a cluster that no longer sends them.
    if (isDrained && (await becomesTrue(world, () => promote(world, after, false)))) context.servers.swapRoles()
    else await force(world, context, after)
    await rejoin(world, context, chance)
  },
  /**
   * Promotes the copy after other secondaries have followed the primary further than the copy has. They learn of each
   * other late, and the former primary, which may run, learns of it last.
   */
  lagging: async (world, context, chance) => {
    const { servers } = context
    const [before, after] = primaryAndCopyOf(servers)
    const { clock, network, plan, history } = world
    const pause = () => clock.sleep(chance.next() * plan.activeMs * 0.2)
    const cut = (one: Member, other: Member) => betweenNodes(one, other, (from, to) => network.cut(from, to))
    const restore = (one: Member, other: Member) => betweenNodes(one, other, (from, to) => network.restore(from, to))
    history.add('', `failover: lagging, from ${before.name} to ${after.name}`)
    cut(before, after)
    await pause()
    if (chance.happens(0.3)) before.cluster.crash(chance.happens(0.5))
    if (servers.secondary && chance.happens(0.5)) cut(after, servers.secondary)
    await force(world, context, after)
    await pause()
    if (servers.secondary) {
      restore(after, servers.secondary)
      // The secondary switches back and forth between the two primaries that it knows.
      for (let times = chance.below(4); times > 0; times--) {
        await pause()
        await updateAddresses(world, servers.secondary, after, before)
        betweenNodes(after, servers.secondary, (from, to) => network.reset(from, to))
        cut(after, servers.secondary)
        await pause()
        restore(after, servers.secondary)
      }
    }
    restore(before, after)
    await world.open(before)
    await rejoin(world, context, chance)
  },
  /**
   * Kills the primary, and promotes the copy without force: it must have applied everything announced to it. The disk
   * of the copy is slow.
   */
  unforced: async (world, context, chance) => {
    const { servers, registers } = context
    const [before, after] = primaryAndCopyOf(servers)
    world.history.add('', `failover: unforced, from ${before.name} to ${after.name}`)
    const disk = after.cluster.server?.labState.disk
    if (disk) Object.assign(disk, { state: 'slow', delayMs: chance.between(100, 800) })
    await world.clock.sleep(chance.next() * SLOW_MS)
    before.cluster.crash(true)
    servers.beginTerm()
    registers.markUncertain()
    let announced = announcementTo(after)
    const isTaken = await becomesTrue(world, () => {
      announced = announcementTo(after)
      return promote(world, after, false)
    })
    if (isTaken) {
      await world.open(after)
      judgePromotion(world, after, announced)
      servers.swapRoles()
    } else await force(world, context, after)
    await world.open(before)
    await rejoin(world, context, chance)
  },
  /**
   * Kills the primary and promotes both copies, each with some of the serving secondaries. One of the two then follows
   * the other.
   */
  double: async (world, context, chance) => {
    const { servers } = context
    const [before, after] = primaryAndCopyOf(servers)
    const { otherCopy, secondary } = servers
    if (!otherCopy || !secondary) throw new Error('a second copy is missing')
    const pause = () => world.clock.sleep(chance.next() * world.plan.activeMs * 0.2)
    world.history.add('', `failover: double, from ${before.name} to ${after.name} and ${otherCopy.name}`)
    before.cluster.crash(chance.happens(0.5))
    const partitioned = chance.pick([after, otherCopy])
    betweenNodes(partitioned, secondary, (from, to) => world.network.cut(from, to))
    await force(world, context, after)
    await untilMode(world, otherCopy, 'primary', () => promote(world, otherCopy, true))
    if (new Chance(`${world.plan.seed} told by the former primary`).happens(0.5))
      await learnFromFormer(world, before, [after, otherCopy], secondary)
    await pause()
    betweenNodes(partitioned, secondary, (from, to) => world.network.restore(from, to))
    await pause()
    await follow(world, after, otherCopy, false)
    await world.open(before)
    await rejoin(world, context, chance)
  },
  /** Promotes the copy with force, even if it lacks entries, with a primary that may be alive or dead. */
  forced: async (world, context, chance) => {
    const [before, after] = primaryAndCopyOf(context.servers)
    world.history.add('', `failover: forced, from ${before.name} to ${after.name}`)
    if (chance.happens(0.5)) before.cluster.crash(chance.happens(0.5))
    await force(world, context, after)
    await world.clock.sleep(chance.next() * world.plan.activeMs * 0.2)
    if (chance.happens(0.4))
      await world.until(`${before.name} is to learn that it is overtaken`, () => findMissingFence(world, before, after))
    await rejoin(world, context, chance)
  },
}

/** Two clusters that were promoted independently learn of each other only through their common former primary. */
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
    `one of ${promoted.map(({ name }) => name).join(' and ')} is to learn of the other one`,
    async () => {
      if (promoted.some(isFenced)) return undefined
      if (world.network.isCalm) await startAndUnsealAll(world)
      return 'neither is fenced'
    },
  )
  for (const one of promoted) betweenNodes(one, secondary, (from, to) => world.network.restore(from, to))
}

/** Calls `work` for the links between two clusters, in both directions. */
export const betweenNodes = (one: Member, other: Member, work: (from: string, to: string) => void): void => {
  for (const { name: from } of one.cluster.nodes)
    for (const { name: to } of other.cluster.nodes) {
      work(from, to)
      work(to, from)
    }
}

/**
 * Only its successor informs the former primary. The successor may have died when its disk failed for the last time.
 */
const findMissingFence = async (world: World, former: Member, successor: Member): Promise<string | undefined> => {
  if (world.network.isCalm && !successor.cluster.server) await world.startAndUnseal(successor)
  return former.cluster.server?.runtime?.cluster?.replication.view.fence
    ? undefined
    : 'it does not know of its successor'
}

export const primaryAndCopyOf = ({ primary, copy }: Servers): readonly [Member, Member] => {
  if (!copy) throw new Error('there is no copy to promote')
  return [primary, copy]
}

export const replicationOf = ({ cluster }: Member) => cluster.server?.runtime?.cluster?.replication.replication

interface Announcement {
  /** The server that received the announcement. After a restart, only the facts on its disk are known. */
  readonly server: Server | undefined
  readonly epoch: string
  readonly index: number
}

const announcementTo = (after: Member): Announcement => {
  const { epoch = '', index = 0 } = replicationOf(after)?.context.running.dr.follower?.announced ?? {}
  return { server: after.cluster.server, epoch, index }
}

/** Checks that a copy promoted without force has all entries that its primary announced to it. */
const judgePromotion = (world: World, after: Member, announced: Announcement): void => {
  if (after.cluster.server !== announced.server) return
  const record = replicationOf(after)?.context.roles.record('dr')
  const epoch = record && 'epochs' in record ? record.epochs.at(-1) : undefined
  if (epoch && epoch.parent === announced.epoch && epoch.forkIndex < announced.index)
    world.fail(`${after.name} took over with ${epoch.forkIndex} of ${announced.index} entries announced to it`)
}

export const force = async (world: World, { servers, registers }: FailoverContext, after: Member): Promise<void> => {
  servers.beginTerm()
  registers.markUncertain()
  await untilMode(world, after, 'primary', () => promote(world, after, true))
  servers.swapRoles()
}

/** Makes the former primary, which is now the copy, follow its successor. Does the same for the second copy. */
export const rejoin = async (world: World, { servers, losses }: FailoverContext, chance: Chance): Promise<void> => {
  const [above, below] = primaryAndCopyOf(servers)
  await untilMode(world, below, 'secondary', () => demote(world, below))
  const withWipe = servers.isSettled && chance.happens(0.3)
  if (withWipe) {
    servers.detach(below)
    await untilMode(world, below, 'disabled', () => withToken(world, below, 'disable', {}))
  }
  await follow(world, above, below, withWipe)
  if (servers.otherCopy && !(await follows(world, servers.otherCopy)))
    await follow(world, above, servers.otherCopy, false)
  await moveSecondary(world, servers)
  for (const member of world.members) await losses.collect(world, member)
  servers.settle()
}

/** Gives activation tokens of the primary to a cluster that is not a primary, until it follows that primary. */
const follow = async (world: World, above: Member, below: Member, withWipe: boolean): Promise<void> => {
  const id = below.name.toLowerCase()
  if (!withWipe) await untilMode(world, below, 'secondary', () => demote(world, below))
  for (let tries = 1; ; tries++) {
    if (tries > TRIES_MAX) world.fail(`${below.name} does not follow ${above.name}`)
    const token = await issue(world, above, id)
    // A request whose response was lost may have made the cluster join with a token that is used by now.
    const { mode } = await world.status(below, 'dr')
    if (withWipe && mode !== 'bootstrapping' && mode !== 'secondary')
      await world.call(below, { method: 'PUT', path: `${DR}/secondary/enable`, body: { token } })
    else await withToken(world, below, 'update-primary', { token })
    if (await becomesTrue(world, () => follows(world, below))) return
    // After a wipe, the other nodes are sealed, and one of them may have to become active.
    await startAndUnsealAll(world)
  }
}

/** Issues a new activation token for an ID, which may be in use by an earlier member or through a lost response. */
const issue = async (world: World, above: Member, id: string): Promise<string> => {
  let token = ''
  await world.until(`${above.name} is to issue a token`, async () => {
    await world.call(above, { method: 'PUT', path: `${DR}/primary/revoke-secondary`, body: { id } })
    const issued = await world.call(above, { method: 'PUT', path: `${DR}/primary/secondary-token`, body: { id } })
    if (issued?.status !== 200) {
      await startAndUnsealAll(world)
      return `the answer is ${issued?.status} ${JSON.stringify(issued?.json)}`
    }
    token = (issued.json.wrap_info as { readonly token: string }).token
    return undefined
  })
  return token
}

/** Gives the address of the new primary to a secondary that never learned it. */
const moveSecondary = async (world: World, { primary, secondary }: Servers): Promise<void> => {
  if (!secondary) return
  const hasMoved = async () =>
    (await follows(world, secondary, 'performance')) && (await isConnectedTo(world, primary, secondary))
  for (let tries = 1; !(await becomesTrue(world, hasMoved)); tries++) {
    if (tries > TRIES_MAX) world.fail(`${secondary.name} does not follow ${primary.name}`)
    await startAndUnsealAll(world)
    await updateAddresses(world, secondary, primary)
  }
}

/** Sets the addresses at which a secondary looks for its primary. */
const updateAddresses = (world: World, secondary: Member, ...primaries: readonly Member[]) =>
  world.call(secondary, {
    method: 'PUT',
    path: 'sys/replication/performance/secondary/update-primary',
    body: { update_primary_addrs: primaries.flatMap(({ cluster }) => cluster.clusterAddresses) },
  })

const follows = async (world: World, below: Member, kind: Kind = 'dr'): Promise<boolean> => {
  const { mode, state, connection_state: link } = await world.status(below, kind)
  return mode === 'secondary' && state === 'stream-wals' && link === 'ready'
}

/**
 * Returns true if the primary reports this secondary as connected. The secondary itself may have another primary in its
 * record, or none yet.
 */
const isConnectedTo = async (world: World, primary: Member, { name }: Member): Promise<boolean> => {
  const { secondaries = [] } = await world.status(primary, 'performance')
  return (secondaries as readonly Readonly<Record<string, unknown>>[]).some(
    (row) => row.node_id === name.toLowerCase() && row.connection_status === 'connected',
  )
}

/** Returns true if a condition becomes true within the timeout. */
const becomesTrue = async (world: World, condition: () => Promise<boolean>): Promise<boolean> => {
  const endMs = world.clock.monotonic() + PATIENCE_MS
  while (!(await condition())) {
    if (world.clock.monotonic() > endMs) return false
    await world.clock.sleep(200)
  }
  return true
}

/**
 * Repeats a request until the member has this mode, because a request with a lost response may have changed it already.
 */
const untilMode = (world: World, member: Member, mode: string, work: () => Promise<unknown>): Promise<void> =>
  world.until(`${member.name} is to be ${mode}`, async () => {
    const before = await world.status(member, 'dr')
    if (before.mode === mode) return undefined
    if (before.mode !== undefined) await work()
    const after = await world.status(member, 'dr')
    if (after.mode === mode) return undefined
    await startAndUnsealAll(world)
    return `it is ${after.mode}`
  })

/** Returns true if the primary reported that its copy has applied everything. */
const demoteDrained = async (world: World, member: Member): Promise<boolean> => {
  let isDrained = false
  await untilMode(world, member, 'secondary', async () => {
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

/**
 * Runs a request of an operator on a DR secondary, with a new operation token. Resolves to the token; undefined if none
 * was created.
 */
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

/** Returns undefined if no token was created in time. */
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
    // An attempt that stays open would prevent the next one.
    await world.call(member, { method: 'DELETE', path, token: '' })
    return undefined
  }
}
