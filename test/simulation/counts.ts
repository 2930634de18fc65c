import type { World } from './world.js'

const PAUSE_MS = 500
/** Maximum bytes in flight on a connection whose reader has stopped: one window per call, and one message. */
const UNDER_WAY_BYTES_MAX = 2 * 1024 * 1024
const UNDER_WAY_MESSAGES_MAX = 2_000
const CONNECTIONS_MAX = 100
const TIMERS_MAX = 500
/** Bytes by which a log may exceed its retention for a while. */
const LOG_BYTES_MORE = 20_000

/** Checks repeatedly that all counts stay small while peers are slow, absent or partitioned. */
export const runCounts = async (world: World, endMs: number): Promise<void> => {
  const { clock } = world
  while (clock.monotonic() < endMs) {
    judgeCounts(world)
    await clock.sleep(PAUSE_MS)
  }
}

const judgeCounts = (world: World): void => {
  const { network } = world
  for (const { name, server, clock } of world.nodes) {
    const { timers = 0 } = clock ?? {}
    if (timers > TIMERS_MAX) world.fail(`${name} has ${timers} timers`)
    const { frames = 0, bytes = 0, bytesMax = 0 } = server?.runtime?.store.recentLog ?? {}
    if (bytes > bytesMax)
      world.fail(`${name} keeps ${bytes} bytes of ${frames} frames in memory, of ${bytesMax} at most`)
  }
  const connections = network.inTransit
  if (connections.length > CONNECTIONS_MAX) world.fail(`${connections.length} ends of connections are open`)
  for (const { from, to, messages, bytes } of connections)
    if (bytes > UNDER_WAY_BYTES_MAX || messages > UNDER_WAY_MESSAGES_MAX)
      world.fail(`${bytes} bytes in ${messages} messages are in flight from ${from} to ${to}`)
}

/** Checks at the end, when there are no readers, that no log exceeds its limit. */
export const judgeLogs = (world: World): void => {
  const bytesMax = Number(world.plan.settings.wal_retention_bytes) + LOG_BYTES_MORE
  for (const { name, server } of world.nodes) {
    const bytes = server?.runtime?.store.walBytes ?? 0
    if (bytes > bytesMax) world.fail(`the log of ${name} has ${bytes} bytes, of ${bytesMax} at most`)
  }
  judgeCounts(world)
}
