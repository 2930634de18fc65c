import { expect, it } from 'vitest'
import type { Runtime } from '../../../src/server/runtime/runtime.js'
import { enablePrimary, hasMode, type Scene, withSimulatedServer } from '../../support/simulated-server.js'

/** A change whose batch the disk has written and answered by an error: it is there when the storage was opened again. */

/** Another runtime than that one is open. */
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
    // Streams that are opened anew say under which filter they have compared.
    await scene.until(async () => isAnew(scene, runtime))
    expect((await scene.send({ method: 'GET', path }))?.status).toBe(200)
  }))
