import { expect, it } from 'vitest'
import { enablePrimary, hasMode, withSimulatedServer } from '../../support/simulated-server.js'

/** What was decided of an open cluster is not done any more once it was sealed, whoever opens it again meanwhile. */

const KIND = 'dr'
const SLOW = { diskDelayMsMax: 500 }

it('a demotion that waits for writes', () =>
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
    // Nothing is in the way of it any more, and clients write again.
    expect((await send({ method: 'PUT', path: 'kv/slow', body: { value: 'w' } }))?.status).toBe(204)
    expect((await send({ method: 'PUT', path: `sys/replication/${KIND}/primary/demote` }))?.status).toBe(200)
    await scene.until(() => hasMode(scene, KIND, 'secondary'))
  }, SLOW))
