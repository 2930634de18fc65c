import { expect, it } from 'vitest'
import { LogicalError } from '../../../src/logical/errors.js'
import type { Runtime } from '../../../src/server/runtime/runtime.js'
import { simulatedServersOf } from '../../../src/lab/simulated/servers.js'
import type { Answer, Call } from '../../../src/server/simulated/calls.js'
import type { SimulatedNode } from '../../../src/server/simulated/node.js'
import { SimulatedWorld } from '../../../src/server/simulated/cluster.js'

interface Scene {
  readonly node: SimulatedNode
  readonly send: (call: Call) => Promise<Answer | undefined>
  /** Unseals the cluster again. */
  readonly unseal: () => Promise<unknown>
  readonly until: (fact: () => Promise<boolean>) => Promise<void>
}

const LIMIT_MS = 60_000

/** Runs an open server in virtual time. `diskDelayMsMax`: maximum duration of a batch. */
const withSimulatedServer = async (
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

const hasMode = async ({ send }: Scene, kind: string, mode: string): Promise<boolean> => {
  const answer = await send({ method: 'GET', path: `sys/replication/${kind}/status` })
  return (answer?.json.data as { readonly mode?: string } | undefined)?.mode === mode
}

const enablePrimary = async (scene: Scene, kind: string): Promise<void> => {
  const { server } = scene.node
  await scene.send({ method: 'PUT', path: `sys/replication/${kind}/primary/enable` })
  await server?.host.settled()
  await scene.until(() => hasMode(scene, kind, 'primary'))
}

/**
 * A decision of an open cluster is not carried out after a seal, even if the cluster is unsealed again in the meantime.
 */

const KIND = 'dr'
const SLOW = { diskDelayMsMax: 500 }

it('a demotion that waits for writes during a seal is not executed, even after an unseal', () =>
  withSimulatedServer(async (scene) => {
    const { send, unseal } = scene
    await enablePrimary(scene, KIND)
    await send({ method: 'PUT', path: 'sys/mounts/kv', body: { type: 'kv' } })
    const write = send({ method: 'PUT', path: 'kv/slow', body: { value: 'v' } })
    const demotion = send({ method: 'PUT', path: `sys/replication/${KIND}/primary/demote` })
    expect((await send({ method: 'PUT', path: 'sys/seal' }))?.status).toBe(204)
    await unseal()
    expect((await demotion)?.status).toBe(503)
    await write
    expect(await hasMode(scene, KIND, 'primary')).toBe(true)
    // The cause of the delay is gone, and clients can write again.
    expect((await send({ method: 'PUT', path: 'kv/slow', body: { value: 'w' } }))?.status).toBe(204)
    expect((await send({ method: 'PUT', path: `sys/replication/${KIND}/primary/demote` }))?.status).toBe(200)
    await scene.until(() => hasMode(scene, KIND, 'secondary'))
  }, SLOW))

/** A change whose batch was written although the disk reported an error: it is present after the storage is reopened. */

/** Returns true if another runtime is open. */
const isAnew = ({ node: { server } }: Scene, before: Runtime | undefined) =>
  server?.runtime?.cluster !== undefined && server.runtime !== before

it.each(['dr', 'performance'])('a failed demotion of a %s role takes effect like after a crash', (kind) =>
  withSimulatedServer(async (scene) => {
    await enablePrimary(scene, kind)
    const { runtime } = scene.node.server ?? {}
    scene.node.disk.failuresLeft = 1
    const answer = await scene.send({ method: 'PUT', path: `sys/replication/${kind}/primary/demote` })
    expect(answer?.status).toBe(503)
    await scene.until(async () => isAnew(scene, runtime))
    await scene.until(() => hasMode(scene, kind, 'secondary'))
  }),
)

it('a failed change of a filter makes connected secondaries compare again', () =>
  withSimulatedServer(async (scene) => {
    await enablePrimary(scene, 'performance')
    const path = 'sys/replication/performance/primary/paths-filter/b'
    const { runtime } = scene.node.server ?? {}
    scene.node.disk.failuresLeft = 1
    const answer = await scene.send({ method: 'PUT', path, body: { mode: 'deny', paths: ['secret/'] } })
    expect(answer?.status).toBe(503)
    // Reopened streams send the filter of their last comparison.
    await scene.until(async () => isAnew(scene, runtime))
    expect((await scene.send({ method: 'GET', path }))?.status).toBe(200)
  }))

it.each(['replication status', 'seal status'])('a change of the runtime runs although the %s cannot be read', (what) =>
  withSimulatedServer(async (scene) => {
    const { node } = scene
    await enablePrimary(scene, KIND)
    const { host } = node.server ?? {}
    const { cluster, seal } = host?.runtime ?? {}
    if (!host || !cluster || !seal) throw new Error('the server is not open')
    const fail = () => {
      throw new LogicalError('unavailable', 'the storage is gone')
    }
    if (what === 'seal status') seal.status = fail
    else cluster.replication.statusData = fail
    let isReleased = false
    const release = async () => {
      isReleased = true
    }
    await host.reopen('a test', { isDrained: true, release })
    expect(isReleased).toBe(true)
    expect(await hasMode(scene, KIND, 'primary')).toBe(true)
  }),
)
