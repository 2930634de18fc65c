import { simulatedServersOf } from '../../src/lab/simulated/servers.js'
import type { Answer, Call } from '../../src/server/simulated/calls.js'
import type { SimulatedNode } from '../../src/server/simulated/node.js'
import { SimulatedWorld } from '../../src/server/simulated/world.js'

export interface Scene {
  readonly node: SimulatedNode
  readonly send: (call: Call) => Promise<Answer | undefined>
  /** Opens it, once it was sealed. */
  readonly unseal: () => Promise<unknown>
  readonly until: (fact: () => Promise<boolean>) => Promise<void>
}

const LIMIT_MS = 60_000

/** One open server in virtual time. `diskDelayMsMax`: how long a batch may take. */
export const withSimulatedServer = async (
  story: (scene: Scene) => Promise<void>,
  { diskDelayMsMax = 1 }: { readonly diskDelayMsMax?: number } = {},
): Promise<void> => {
  const cluster = { name: 'A', servers: simulatedServersOf('A', 0, 1, {}), leaseMs: 1_000 }
  const world = new SimulatedWorld({
    seed: 'one server',
    networkDelayMsMax: 1,
    diskDelayMsMax,
    logDelayMsMax: 1,
    driftOf: () => 1,
    clusters: [cluster],
  })
  const [node] = world.nodes
  if (!node) throw new Error('there is no server')
  const { clock } = world
  const begin = async () => {
    await node.start()
    const made = await node.call({ method: 'PUT', path: 'sys/init', body: { secret_shares: 1, secret_threshold: 1 } })
    const { keys, root_token: token } = (made?.json ?? {}) as { keys: string[]; root_token: string }
    const unseal = () => node.call({ method: 'PUT', path: 'sys/unseal', body: { key: keys[0] } })
    await unseal()
    const send = (call: Call) => node.call({ token, ...call })
    const until = async (fact: () => Promise<boolean>) => {
      while (!(await fact())) await clock.sleep(10)
    }
    await story({ node, send, unseal, until })
  }
  await clock.run(begin(), LIMIT_MS)
  node.crash(false)
}

export const hasMode = async ({ send }: Scene, kind: string, mode: string): Promise<boolean> => {
  const answer = await send({ method: 'GET', path: `sys/replication/${kind}/status` })
  return (answer?.json.data as { readonly mode?: string } | undefined)?.mode === mode
}

export const enablePrimary = async (scene: Scene, kind: string): Promise<void> => {
  const { server } = scene.node
  await scene.send({ method: 'PUT', path: `sys/replication/${kind}/primary/enable` })
  await server?.host.settled()
  await scene.until(() => hasMode(scene, kind, 'primary'))
}
