import { beforeAll, expect, it } from 'vitest'
import { systemClock } from '../../src/base/clock.js'
import { type Cluster, openClusters } from '../support/clusters.js'
import { drill } from '../support/drill.js'
import { WriteLoad } from '../support/load.js'
import { checkMonitoring } from '../support/monitoring.js'
import { generationOf } from '../support/own-endpoints.js'

/**
 * A revoked secondary is disconnected at once and receives nothing more (F11). The delay is measured over many rounds.
 */
const ROUNDS = 20

const clusters = openClusters()
let A: Cluster
let C: Cluster

beforeAll(async () => {
  A = await clusters.add('A')
  C = await clusters.add('C')
  await A.client.write('sys/mounts/kv', { type: 'kv' })
  await clusters.join(A, C, 'performance', 'c')
})

const REVOKE = 'sys/replication/performance/primary/revoke-secondary'
const UPDATE = 'performance/secondary/update-primary'

const linkOf = async (id: string): Promise<unknown> => {
  const { secondaries } = await A.status('performance')
  return (secondaries as { node_id: string; connection_status: string }[]).find((row) => row.node_id === id)
    ?.connection_status
}

it('F11: a revoked secondary can join again', () =>
  drill('F11 revoke', async (on) => {
    const unused = await on.token(A, 'performance', 'unused')
    await on.ok(A, 'POST', 'sys/replication/performance/primary/paths-filter/c', { mode: 'deny', paths: ['nowhere/'] })
    await on.write(A, 'kv/before', 'before')
    await on.reads(C, 'kv/before', 'before')
    await checkMonitoring(on, A, C, 'performance', 'c')
    expect((await on.ok(A, 'POST', REVOKE, { id: 'c' })).status).toBe(204)
    const { known_secondaries } = await A.status('performance')
    expect(known_secondaries).toEqual(['unused'])
    await on.status(C, 'performance', { connection_state: 'transient_failure', state: 'idle' })
    await on.write(A, 'kv/after', 'after')
    expect(await on.read(C, 'kv/before'), 'reads go on').toBe('before')
    expect(await on.read(C, 'kv/after')).toBeUndefined()
    await on.refused(C, 'PUT', 'kv/x', { value: 1 }, 503, 'primary cluster is unreachable')

    on.step('a revoked activation token is worthless; so is an id that nobody has')
    expect((await on.ok(A, 'POST', REVOKE, { id: 'unused' })).status).toBe(204)
    const refusal = await on.call(C, 'POST', `sys/replication/${UPDATE}`, { token: unused })
    expect(refusal.status).toBe(400)
    expect((await on.ok(A, 'POST', REVOKE, { id: 'nobody' })).status).toBe(204)
    await on.refused(A, 'POST', REVOKE, {}, 400, 'missing id')

    on.step('a new token restores it without a wipe; its filter is gone')
    const generation = await generationOf(on, C)
    const token = await on.token(A, 'performance', 'c')
    await on.change(C, UPDATE, { token }, 'has successfully found')
    await checkMonitoring(on, A, C, 'performance', 'c')
    await C.untilServes()
    expect(await on.read(C, 'kv/after')).toBe('after')
    expect(await generationOf(on, C)).toBe(generation)
    await on.refused(A, 'GET', 'sys/replication/performance/primary/paths-filter/c', undefined, 404, '')
  }))

it.each(['merkle-diff', 'merkle-sync', 'apply'] as const)('F11: a revocation disconnects a secondary in %s', (state) =>
  drill(`F11 revoke in ${state}`, async (on) => {
    const lab = (path: string, body: object) => on.ok(C, 'POST', `/_understudy/v1/states/${path}`, body)
    await clusters.untilReplicated(A, C, 'performance')
    await lab('hold', { state, kind: 'performance' })
    if (state !== 'apply') {
      await on.ok(C, 'POST', '/_understudy/v1/faults/corrupt', { tree: 'replicated', page: 3 })
      await on.ok(A, 'POST', 'sys/replication/performance/primary/paths-filter/c', {
        mode: 'deny',
        paths: [`${state}/`],
      })
      await on.status(C, 'performance', { state })
    }
    await on.write(A, `kv/in-${state}`, 'not for C')
    const root = (await C.status('performance')).merkle_root
    expect((await on.ok(A, 'POST', REVOKE, { id: 'c' })).status).toBe(204)
    expect(await linkOf('c'), 'cut by the time of the answer').toBeUndefined()
    await on.status(C, 'performance', { connection_state: 'transient_failure' })
    await lab('release', {})
    await on.status(C, 'performance', { state: 'idle' })
    expect((await C.status('performance')).merkle_root).toBe(root)
    expect(await on.read(C, `kv/in-${state}`)).toBeUndefined()
    await on.change(C, UPDATE, { token: await on.token(A, 'performance', 'c') }, 'has successfully found')
    await on.ok(C, 'POST', 'sys/replication/reindex', {}).catch(() => undefined)
    await checkMonitoring(on, A, C, 'performance', 'c')
    await C.untilServes()
  }),
)

it(`F11: a revoked secondary is disconnected before the response and receives nothing more, in ${ROUNDS} rounds under load`, () =>
  drill('F11 how fast', async (on) => {
    const cuts: number[] = []
    const seenLate: string[] = []
    const load = new WriteLoad({
      client: A.client,
      writers: 4,
      pathOf: (index) => `kv/load-${index}`,
      bodyOf: (index) => ({ value: index }),
    })
    for (let round = 0; round < ROUNDS; round++) {
      load.start()
      const before = load.acknowledged.size
      await A.until('some writes', async () => (load.acknowledged.size > before + 20 ? undefined : 'too few'))
      await A.client.write(REVOKE, { id: 'c' })
      const revokedMs = systemClock.monotonic()
      if (await linkOf('c')) seenLate.push(`the link in round ${round}`)
      await A.client.write(`kv/mark-${round}`, { value: round })
      await C.untilStatus('performance', { connection_state: 'transient_failure' })
      cuts.push(systemClock.monotonic() - revokedMs)
      await load.stop()
      const found = await C.client.send('GET', `kv/mark-${round}`)
      if (found.status !== 404) seenLate.push(`mark-${round}`)
      const token = (await A.client.write('sys/replication/performance/primary/secondary-token', { id: 'c' })).wrap_info
      await C.client.write(`sys/replication/${UPDATE}`, { token: (token as { token: string }).token })
      await C.untilStatus('performance', { state: 'stream-wals', connection_state: 'ready' })
      await C.untilServes()
    }
    await clusters.untilReplicated(A, C, 'performance')
    const sorted = [...cuts].sort((a, b) => a - b)
    const at = (share: number) => Math.round(sorted[Math.ceil(sorted.length * share) - 1] ?? 0)
    on.note(
      `noticed by the secondary after the 204: p50 ${at(0.5)} ms, p99 ${at(0.99)} ms over ${ROUNDS} rounds; ${load.acknowledged.size} writes`,
    )
    expect(seenLate).toEqual([])
  }))
