import { expect, test } from 'vitest'
import { type LabSettings, startLab } from '../../../src/index.js'
import { enablePrimary, secondaryToken } from '../../../src/lab/requests/replication.js'
import { DOUBLE } from '../../support/double-promotion.js'

/** Secondaries during changes of their primary, in virtual time. */

test('a performance secondary streams again after its primary was demoted and promoted again', async () => {
  await using lab = await startLab('pr-dr', { simulated: true })
  const { A, C } = lab
  await A.client.write('sys/mounts/kv', { type: 'kv' })
  await lab.converged()
  await A.client.write('sys/replication/dr/primary/demote')
  const dr_operation_token = await lab.operationToken('A')
  await A.anonymous.write('sys/replication/dr/secondary/promote', { dr_operation_token })
  await A.client.write('kv/later', { word: 'later' })
  await lab.clock.advance('10s')
  expect(await C.status('performance')).toMatchObject({ state: 'stream-wals', connection_state: 'ready' })
  expect((await C.client.read('kv/later')).data).toEqual({ word: 'later' })
})

/** Promotes both DR copies, B and E, of A. The performance secondaries C and D follow B. */
const startDoublePromoted = async (seed: number, settings: LabSettings = {}) => {
  const lab = await startLab(DOUBLE, { simulated: true, seed, settings })
  await lab.A.client.write('sys/mounts/kv', { type: 'kv' })
  await lab.converged()
  for (const name of ['C', 'D'] as const) lab.link(name, 'E').partition()
  await lab.A.crash()
  for (const name of ['B', 'E'] as const) await lab.failover('A', name, { force: true })
  await lab.clock.advance('10s')
  expect(await lab.C.status('performance')).toMatchObject({ state: 'stream-wals', connection_state: 'ready' })
  lab.heal()
  return lab
}

const DR = 'sys/replication/dr'

/** Events after which B is no longer a primary. All except the first two make it follow E. */
const ENDINGS: Readonly<Record<string, (lab: Awaited<ReturnType<typeof startDoublePromoted>>) => Promise<unknown>>> = {
  'is demoted': ({ B }) => B.client.write(`${DR}/primary/demote`),
  'disables both kinds': async ({ B, clock }) => {
    await B.client.write('sys/replication/performance/primary/disable')
    await clock.advance('3s')
    await B.client.write(`${DR}/primary/disable`)
  },
  'follows the other one': (lab) => lab.rejoin('B', 'E'),
  'follows the other one, which is fenced': async (lab) => {
    await lab.clock.advance('10s')
    await lab.rejoin('B', 'E')
  },
  'is wiped to follow the other one': async (lab) => {
    const { B, E, clock } = lab
    for (const kind of ['performance', 'dr']) {
      await B.client.write(`sys/replication/${kind}/primary/disable`)
      await clock.advance('3s')
    }
    const { wrap_info: wrapped } = await E.client.write(`${DR}/primary/secondary-token`, { id: 'b' })
    await B.client.write(`${DR}/secondary/enable`, { token: (wrapped as { token: string }).token })
  },
}

// With this seed, the epoch of the sibling that leaves is the greater one.
test.each(Object.keys(ENDINGS))(
  'the remaining sibling accepts writes and all secondaries when the other one %s',
  async (ending) => {
    await using lab = await startDoublePromoted(2, { fence_client_writes: true })
    await ENDINGS[ending]?.(lab)
    await lab.clock.advance('30s')
    for (const name of ['C', 'D'] as const)
      expect(await lab.cluster(name).status('performance')).toMatchObject({
        state: 'stream-wals',
        connection_state: 'ready',
      })
    for (const name of ['E', 'C', 'D'] as const) await lab.cluster(name).client.write('kv/last', { at: name })
    expect(await lab.E.client.send('GET', 'sys/health')).toMatchObject({ status: 200 })
  },
)

test('a fenced primary that rejects writes reports health 503 and a problem of the lab', async () => {
  await using lab = await startLab('dr', { simulated: true, settings: { fence_client_writes: true } })
  const { A, B } = lab
  await A.client.write('sys/mounts/kv', { type: 'kv' })
  await lab.converged()
  await lab.failover('A', 'B', { force: true })
  await lab.clock.advance('10s')
  expect(await A.client.send('PUT', 'kv/one', { body: { n: 1 } })).toMatchObject({ status: 503 })
  expect(await A.client.send('GET', 'sys/health')).toMatchObject({
    status: 503,
    json: { sealed: false, standby: false },
  })
  expect(await lab.problems()).toContain('A rejects writes: its replication set has a newer primary')
  expect(await B.client.send('GET', 'sys/health')).toMatchObject({ status: 200 })
})

/** Kills A before C has its first copy. B is a DR copy of A. C uses the key shares of A. */
const startWithoutFirstCopy = async () => {
  const lab = await startLab(
    { ...DOUBLE, name: 'stranded', clusters: ['A', 'B', 'C'], links: [{ kind: 'dr', primary: 'A', secondary: 'B' }] },
    { simulated: true },
  )
  const [A, B, C] = [lab.cluster('A'), lab.cluster('B'), lab.cluster('C')]
  await enablePrimary(A.client, 'performance')
  await A.client.write('sys/mounts/kv', { type: 'kv' })
  await lab.converged()
  const token = await secondaryToken(A.client, 'performance', 'c')
  await C.client.write('sys/replication/performance/secondary/enable', { token })
  lab.link('A', 'C').partition()
  await A.crash()
  await lab.clock.advance('10s')
  expect(await C.status('performance')).toMatchObject({ mode: 'bootstrapping' })
  C.useKeys({ rootToken: '', unsealKeys: A.unsealKeys, threshold: A.threshold })
  const call = async (path: string, body = {}) => {
    const { status, json } = await C.client.send('PUT', `sys/replication/${path}`, { body })
    await lab.clock.advance('5s')
    return `${status} ${JSON.stringify(json?.errors ?? '')}`
  }
  return { lab, A, B, C, call }
}

test('a performance secondary without its first copy reports why it waits, recovers, and can be disabled', async () => {
  const { lab, C, call } = await startWithoutFirstCopy()
  await using _ = lab
  expect(await call('performance/secondary/promote', { force: true })).toContain(
    '503 ["the first copy of this performance secondary is not complete',
  )
  await C.takeRoot()
  expect(await call('recover')).toBe('200 ""')
  expect(await call('performance/secondary/update-primary', { token: '' })).toBe('200 ""')
  expect(await C.status('performance')).toMatchObject({ mode: 'bootstrapping' })
  expect(await call('recover')).toBe('200 ""')
  expect(await call('performance/secondary/disable')).toBe('200 ""')
  expect(await C.status('performance')).toMatchObject({ mode: 'disabled' })
  await C.client.write('sys/mounts/own', { type: 'kv' })
})

test.each([false, true])(
  'a performance secondary without its first copy accepts the token of another primary, after a blank one: %s',
  async (isBlankFirst) => {
    const { lab, B, C, call } = await startWithoutFirstCopy()
    await using _ = lab
    await lab.failover('A', 'B', { force: true })
    await C.takeRoot()
    if (isBlankFirst) expect(await call('performance/secondary/update-primary', { token: '' })).toBe('200 ""')
    const token = await secondaryToken(B.client, 'performance', 'again')
    expect(await call('performance/secondary/update-primary', { token })).toBe('200 ""')
    await lab.clock.advance('10s')
    expect(await C.status('performance')).toMatchObject({ mode: 'secondary', state: 'stream-wals' })
  },
)
