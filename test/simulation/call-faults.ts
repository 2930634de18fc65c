import type { Chance } from '../../src/server/simulated/chance.js'
import type { SimulatedNode } from '../../src/server/simulated/node.js'
import { NODE_FAULTS } from './faults.js'
import type { Member, World } from './world.js'

/** Maximum time, in leases, during which a node cannot reach the shared log. */
const LEASES_MAX = 3
const WRITE_MS_MAX = 1_000
/** Maximum time in milliseconds before the fault, if it does not wait for a write. */
const CALL_MS_MAX = 100

/** Returns a fault of the active node during a call, so that another node must take over. */
export const drawCallFault = (world: World, { cluster }: Member, chance: Chance) => {
  const { clock, history, plan } = world
  const name = chance.pick(['kill', 'kill', 'stepDown', 'freeze', 'cutLog', 'loseLogAnswers'] as const)
  const isLate = chance.happens(0.6)
  const afterMs = chance.next() * CALL_MS_MAX
  const lastsMs = chance.next() * LEASES_MAX * plan.nodes.leaseMs
  return async () => {
    const [node] = cluster.serving
    if (!node) return
    await (isLate ? writes(world, node) : clock.sleep(afterMs))
    history.add(node.name, `amid a call: ${name}`)
    const { logLink } = node
    await (name === 'kill' ? node.crash(true) : NODE_FAULTS[name](world, node, chance))
    await clock.sleep(lastsMs)
    logLink?.heal()
  }
}

/**
 * Resolves when the server has written something, possibly the result of the call. The call has no response by then.
 */
const writes = async ({ clock }: World, { server }: SimulatedNode): Promise<void> => {
  const appliedIndex = server?.runtime?.appliedIndex
  const endMs = clock.monotonic() + WRITE_MS_MAX
  while (server?.runtime?.appliedIndex === appliedIndex && clock.monotonic() < endMs) await clock.sleep(1)
}
