import { expect, it } from 'vitest'
import { simulatedServersOf } from '../../../src/lab/simulated/servers.js'
import type { Runtime } from '../../../src/server/runtime/runtime.js'
import type { Answer, Call } from '../../../src/server/simulated/calls.js'
import type { SimulatedNode } from '../../../src/server/simulated/node.js'
import { SimulatedWorld } from '../../../src/server/simulated/world.js'

/** A change whose batch the disk has written and answered by an error: it is there when the storage was opened again. */

interface Scene {
  readonly node: SimulatedNode
  readonly send: (call: Call) => Promise<Answer | undefined>
  readonly until: (fact: () => Promise<boolean>) => Promise<void>
}

/** One open server in virtual time. */
const play = async (story: (scene: Scene) => Promise<void>): Promise<void> => {
  const cluster = { name: 'A', servers: simulatedServersOf('A', 0, 1, {}), leaseMs: 1_000 }
  const world = new SimulatedWorld({
    seed: 'a failed change',
    networkDelayMsMax: 1,
    diskDelayMsMax: 1,
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
    await node.call({ method: 'PUT', path: 'sys/unseal', body: { key: keys[0] } })
    const send = (call: Call) => node.call({ token, ...call })
    const until = async (fact: () => Promise<boolean>) => {
      while (!(await fact())) await clock.sleep(10)
    }
    await story({ node, send, until })
  }
  await clock.run(begin(), 60_000)
  node.crash(false)
}

const hasMode = async ({ send }: Scene, kind: string, mode: string) => {
  const answer = await send({ method: 'GET', path: `sys/replication/${kind}/status` })
  return (answer?.json.data as { readonly mode?: string } | undefined)?.mode === mode
}

/** Another runtime than that one is open. */
const isAnew = ({ node: { server } }: Scene, before: Runtime | undefined) =>
  server?.runtime?.cluster !== undefined && server.runtime !== before

const enable = async (scene: Scene, kind: string) => {
  const { server } = scene.node
  await scene.send({ method: 'PUT', path: `sys/replication/${kind}/primary/enable` })
  await server?.host.settled()
  await scene.until(() => hasMode(scene, kind, 'primary'))
}

it.each(['dr', 'performance'])('of a %s role takes effect as it does after a crash', (kind) =>
  play(async (scene) => {
    await enable(scene, kind)
    const { runtime } = scene.node.server ?? {}
    scene.node.disk.failuresLeft = 1
    const answer = await scene.send({ method: 'PUT', path: `sys/replication/${kind}/primary/demote` })
    expect(answer?.status).toBe(503)
    await scene.until(async () => isAnew(scene, runtime))
    await scene.until(() => hasMode(scene, kind, 'secondary'))
  }),
)

it('of a filter has whoever streams compared', () =>
  play(async (scene) => {
    await enable(scene, 'performance')
    const path = 'sys/replication/performance/primary/paths-filter/b'
    const { runtime } = scene.node.server ?? {}
    scene.node.disk.failuresLeft = 1
    const answer = await scene.send({ method: 'PUT', path, body: { mode: 'deny', paths: ['secret/'] } })
    expect(answer?.status).toBe(503)
    // Streams that are opened anew say under which filter they have compared.
    await scene.until(async () => isAnew(scene, runtime))
    expect((await scene.send({ method: 'GET', path }))?.status).toBe(200)
  }))
