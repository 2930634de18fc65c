import { incomingOf } from '../../src/server/simulated/calls.js'
import { Chance } from '../../src/server/simulated/chance.js'
import type { SimulatedNode } from '../../src/server/simulated/node.js'
import type { World } from './world.js'

const PAUSE_MS_MAX = 400
const LIMIT_MS = 100
const OWN_PATHS = ['sys/health', 'sys/seal-status', 'sys/leader']
/** Standbys forward these paths to the active node. */
const ROLE_PATHS = ['sys/replication/status', 'sys/replication/dr/status', 'sys/replication/performance/status']

/**
 * Reads the status of every server: it must respond at once, whatever it waits for. The reads bypass the network, and
 * are made where the HTTP front would make them.
 */
export const runStatusReads = async (world: World, endMs: number): Promise<void> => {
  const { clock, plan } = world
  if (!plan.hasStatusReads) return
  const chance = new Chance(`${plan.seed} status`)
  for (;;) {
    await clock.sleep(chance.next() * PAUSE_MS_MAX)
    if (clock.monotonic() >= endMs) return
    const { cluster } = chance.pick(world.members)
    const node = chance.pick(cluster.nodes)
    const path = chance.pick(cluster.hasNodes ? OWN_PATHS : [...OWN_PATHS, ...ROLE_PATHS])
    await world.act('status', () => ask(world, node, path))
  }
}

const ask = async (world: World, node: SimulatedNode, path: string): Promise<void> => {
  const { server } = node
  if (!server || node.clock?.frozenMs !== 0) return
  const request = incomingOf(`status of ${node.name}`, { method: 'GET', path })
  const isAnswered = await Promise.race([
    server.handle(request).then(
      () => true,
      () => true,
    ),
    world.clock.sleep(LIMIT_MS).then(() => false),
  ])
  // A server that died or was suspended in the meantime owes no response.
  if (!isAnswered && node.server === server && node.clock?.frozenMs === 0)
    world.fail(`${node.name} did not answer ${path} within ${LIMIT_MS} ms`)
}
