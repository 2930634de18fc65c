import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/base/clock.js'
import { startLab, waitFor } from '../../../src/index.js'
import { statusOf } from '../../../src/lab/requests/replication.js'

describe('a lab in this process', () => {
  it('startLab returns after the lab is replicated', async () => {
    const startedMs = systemClock.monotonic()
    await using lab = await startLab('pr-dr', { seed: 42 })
    console.log(`pr-dr started in ${Math.round(systemClock.monotonic() - startedMs)} ms`)
    expect(await statusOf(lab.B.anonymous, 'dr')).toMatchObject({ mode: 'secondary', state: 'stream-wals' })
    await lab.A.client.write('sys/mounts/kv', { type: 'kv', options: { version: '1' } })
    await lab.A.client.write('kv/greeting', { word: 'hello' })
    await lab.converged()
    expect((await lab.C.client.read('kv/greeting')).data).toEqual({ word: 'hello' })
  })

  it('a lab in this process keeps acknowledged writes after a crash, and converges', async () => {
    await using lab = await startLab('pr-dr')
    await lab.A.client.write('sys/mounts/kv', { type: 'kv', options: { version: '1' } })
    await lab.A.client.write('kv/greeting', { word: 'hello' })
    await lab.A.crash()
    expect(lab.A.isRunning).toBe(false)
    await lab.A.start()
    expect((await lab.A.client.read('kv/greeting')).data).toEqual({ word: 'hello' })
    await lab.converged()
  })

  it('a lab in this process cuts and heals the link of a pair and no other', async () => {
    await using lab = await startLab('pr-dr')
    await lab.A.client.write('sys/mounts/kv', { type: 'kv', options: { version: '1' } })
    await lab.converged()
    lab.link('A', 'C').partition()
    await lab.A.client.write('kv/greeting', { word: 'cut' })
    const root = (await lab.A.status('dr')).merkle_root
    const sameRoot = async () => ((await lab.B.status('dr')).merkle_root === root ? undefined : 'other root')
    await waitFor(systemClock, 'B to follow', sameRoot, 90_000)
    expect((await lab.C.anonymous.send('GET', 'kv/greeting', { token: lab.C.rootToken })).status).toBe(404)
    lab.link('A', 'C').heal()
    await lab.converged()
    expect((await lab.C.client.read('kv/greeting')).data).toEqual({ word: 'cut' })
  })

  it('a lab in this process keeps its data on disk on request', async () => {
    await using lab = await startLab('single', { storage: 'disk' })
    await lab.A.client.write('sys/mounts/kv', { type: 'kv' })
    await lab.A.client.write('kv/greeting', { word: 'hello' })
    for (const end of ['crash', 'stop'] as const) {
      await lab.A[end]()
      await lab.A.start()
      expect((await lab.A.client.read('kv/greeting')).data).toEqual({ word: 'hello' })
    }
  })

  it('all clusters of a lab in this process share one clock that can be moved', async () => {
    await using lab = await startLab('single')
    const made = await lab.A.client.write('auth/token/create', { ttl: '30m', policies: ['default'] })
    const token = (made.auth as { client_token: string }).client_token
    expect((await lab.A.anonymous.send('GET', 'auth/token/lookup-self', { token })).status).toBe(200)
    lab.clock.advance('31m')
    expect((await lab.A.anonymous.send('GET', 'auth/token/lookup-self', { token })).status).toBe(403)
  })
})
