import { runBits } from './bits.js'
import { judgeCaches, runCacheChecks } from './caches.js'
import { runClient } from './clients.js'
import { judgeLogs, runCounts } from './counts.js'
import { Credentials, judgeCredentials, runCredentials } from './credentials.js'
import { failOverInCalm, promoteAgainInCalm, runFailovers } from './failovers.js'
import { endFaults, runFaults, runNodeFaults } from './faults.js'
import { filterInOneBatch, judgeFilter, runFilters } from './filters.js'
import { judgeCopies, judgeCopy, judgeInSync, judgeStorage, judgeWrites, runTreeChecks } from './judges.js'
import { judgeLosses, Losses } from './losses.js'
import { failOverWithOlderDisk } from './older-disk.js'
import { overtakeForwardedWrite } from './overtaken-write.js'
import { judgeProgress } from './progress.js'
import { runRaces } from './races.js'
import { Registers } from './registers.js'
import { runResyncFaults } from './resyncs.js'
import { judgeRevocation } from './revocation.js'
import { runRoleWalk, runSecondSet } from './role-walk.js'
import { Servers } from './servers.js'
import { createMounts, initializeAll, joinAll } from './set-up.js'
import { runStatusReads } from './status.js'
import { watch } from './watch.js'
import type { World } from './world.js'

/** Plays a seed, from new clusters to the last check. */
export const play = async (world: World): Promise<void> => {
  const servers = new Servers(world)
  await initializeAll(world)
  await createMounts(world, servers.primary)
  await joinAll(world, servers.links)
  const registers = new Registers()
  const credentials = new Credentials()
  const losses = new Losses()
  const parts = { servers, registers, credentials, losses }
  let isOver = false
  const progressJudge = judgeProgress(world, () => isOver)
  const run = playAndJudge(world, parts).finally(() => {
    isOver = true
  })
  await Promise.race([run, progressJudge.then(() => run)])
  await runBits(world, servers, registers)
  await judgeInSync(world, servers.links)
  // In order from below: a write on a secondary goes up to its primary.
  for (const link of servers.links.toReversed()) await judgeRevocation(world, link)
  judgeLogs(world)
  await runSecondSet(world, servers)
  await runRoleWalk(world)
}

/** Runs the faults, a failover without faults, and all checks. */
const playAndJudge = async (world: World, parts: Parts): Promise<void> => {
  const { servers, registers, credentials, losses } = parts
  await act(world, parts)
  await judgeCaches(world)
  await actInCalm(world, parts)
  const { primary, secondary, copy, otherCopy, secondaryCopy } = servers
  await judgeInSync(world, servers.links)
  await judgeWrites(world, primary, registers)
  await judgeLosses(world, primary, registers, losses)
  await judgeCredentials(world, credentials, servers)
  await filterInOneBatch(world, servers, registers)
  if (secondary) await judgeFilter(world, servers, registers)
  await judgeInSync(world, servers.links)
  if (copy) await judgeCopy(world, primary, copy)
  if (otherCopy) await judgeCopy(world, primary, otherCopy)
  if (secondary && secondaryCopy) await judgeCopy(world, secondary, secondaryCopy)
  for (const member of world.members) {
    await judgeCopies(world, member)
    await judgeStorage(world, member)
  }
  await judgeCaches(world)
}

interface Parts {
  readonly servers: Servers
  readonly registers: Registers
  readonly credentials: Credentials
  readonly losses: Losses
}

/** Runs all actors at the same time until the time is over. A failover that has begun is completed. */
const act = async (world: World, { servers, registers, credentials, losses }: Parts): Promise<void> => {
  const { clock, plan } = world
  const endMs = clock.monotonic() + plan.activeMs
  const { secondary } = servers
  const clients = Array.from({ length: plan.clients }, (_, index) =>
    runClient(world, registers, { index, endMs, servers }),
  )
  await Promise.all([
    ...clients,
    runCredentials(world, credentials, { endMs, servers }),
    runRaces(world, { servers, endMs }),
    runCacheChecks(world, endMs),
    watch(world, registers, () => clock.monotonic() >= endMs),
    ...(secondary ? [runFilters(world, servers, secondary, endMs)] : []),
    runStatusReads(world, endMs),
    runCounts(world, endMs),
    runTreeChecks(world, endMs),
    runFailovers(world, { servers, registers, losses, endMs }),
    Promise.all([runFaults(world, endMs), runNodeFaults(world, endMs)]).then(() => endFaults(world)),
  ])
}

/** Runs the cases that rarely occur by chance, after all faults have ended. */
const actInCalm = async (world: World, parts: Parts): Promise<void> => {
  const { plan, clock } = world
  if (!plan.hasResyncFaults && !plan.hasOvertakenWrite && !plan.hasOlderDisk && !plan.hasCalmFailover) return
  let isOver = false
  const runCases = async () => {
    const context = { ...parts, endMs: clock.monotonic() }
    if (plan.hasResyncFaults) await runResyncFaults(world, context)
    if (plan.hasOvertakenWrite) await world.act('overtaken write', () => overtakeForwardedWrite(world, context))
    if (plan.hasOlderDisk) await world.act('older disk', () => failOverWithOlderDisk(world, context))
    if (plan.hasCalmFailover) await failOver(world, parts)
  }
  const running = runCases().finally(() => {
    isOver = true
  })
  await Promise.all([running, watch(world, parts.registers, () => isOver)])
}

/** Switches over without faults while other clients write. */
const failOver = async (world: World, { servers, registers, losses }: Parts): Promise<void> => {
  const { clock, plan } = world
  await judgeInSync(world, servers.links)
  const endMs = clock.monotonic() + CALM_MS
  const clients = Array.from({ length: plan.clients }, (_, index) =>
    runClient(world, registers, { index: plan.clients + index, endMs, servers }),
  )
  await clock.sleep(CALM_MS / 4)
  await Promise.all([
    ...clients,
    world.act('failover in calm', async () => {
      const context = { servers, registers, losses, endMs }
      const spent = plan.hasRepromotion ? await promoteAgainInCalm(world, context) : undefined
      await failOverInCalm(world, context, spent)
    }),
  ])
}

const CALM_MS = 3_000
