import { expect, it } from 'vitest'
import { systemClock } from '../../../src/base/clock.js'
import { type Kind, startLabOf, waitFor } from '../../../src/index.js'
import { enablePrimary, secondaryToken } from '../../../src/lab/requests/replication.js'

const TOPOLOGY = { name: 'strangers', about: 'two strangers', clusters: ['A', 'B'], links: [] }
const KINDS: readonly Kind[] = ['dr', 'performance']
const ALWAYS_SERVED = [
  'sys/seal-status',
  'sys/health?uninitcode=200&sealedcode=200&drsecondarycode=200&performancestandbycode=200&standbycode=200',
  'sys/replication/status',
  'sys/replication/dr/status',
  'sys/replication/performance/status',
]

it.each(KINDS)('a wiped %s secondary without a reachable primary still reports its role', async (kind) => {
  await using lab = await startLabOf<'A' | 'B'>(TOPOLOGY)
  await lab.B.anonymous.send('POST', '/_understudy/v1/states/hold', { body: { kind, state: 'bootstrapping' } })
  await enablePrimary(lab.A.client, kind)
  const token = await secondaryToken(lab.A.client, kind, 'b')
  await lab.B.client.write(`sys/replication/${kind}/secondary/enable`, { token })
  lab.B.useKeys({ rootToken: '', unsealKeys: lab.A.unsealKeys, threshold: lab.A.threshold })
  const answersOf = () => Promise.all(ALWAYS_SERVED.map(async (path) => statusOf(path)))
  const statusOf = async (path: string) => {
    const [name = '', query] = path.split('?')
    const { status } = await lab.B.anonymous.send('GET', name, {
      query: Object.fromEntries(new URLSearchParams(query)),
    })
    return `${name} ${status}`
  }
  const expected = ALWAYS_SERVED.map((path) => `${path.split('?')[0]} 200`)
  expect(await answersOf()).toEqual(expected)
  lab.link('A', 'B').partition()
  await lab.B.crash()
  await lab.B.start()
  expect(await answersOf()).toEqual(expected)
  expect(await lab.B.status(kind)).toMatchObject({ mode: 'bootstrapping' })
})

it('key shares can disable a performance secondary that was revoked before its first copy', async () => {
  await using lab = await startLabOf<'A' | 'B'>(TOPOLOGY)
  const { A, B } = lab
  await B.anonymous.send('POST', '/_understudy/v1/states/hold', {
    body: { kind: 'performance', state: 'bootstrapping' },
  })
  await enablePrimary(A.client, 'performance')
  await A.client.write('sys/mounts/kv', { type: 'kv' })
  const token = await secondaryToken(A.client, 'performance', 'b')
  const former = B.rootToken
  await B.client.write('sys/replication/performance/secondary/enable', { token })
  B.useKeys({ rootToken: '', unsealKeys: A.unsealKeys, threshold: A.threshold })
  const disable = 'sys/replication/performance/secondary/disable'
  const ask = async (as?: string, path = disable) =>
    (await B.anonymous.send('POST', path, { body: {}, ...(as && { token: as }) })).status
  expect((await B.anonymous.send('GET', 'sys/generate-root/attempt')).status, 'while it is awaited').toBe(503)
  await A.client.write('sys/replication/performance/primary/revoke-secondary', { id: 'b' })
  await B.anonymous.send('POST', '/_understudy/v1/states/release')
  await waitFor(systemClock, 'B to know', async () => ((await ask()) === 403 ? undefined : 'it waits'), 90_000)
  // A request without a token, with an earlier token of the cluster, or with a token of the primary.
  for (const who of [undefined, former, A.rootToken]) expect(await ask(who)).toBe(403)
  await B.takeRoot()
  expect(await ask(B.rootToken, 'sys/replication/performance/secondary/promote')).toBe(503)
  expect((await B.client.send('GET', 'sys/mounts')).status).toBe(503)
  expect(await ask(B.rootToken)).toBe(200)
  const isGivenUp = async () => {
    const { mode } = await B.status('performance')
    return mode === 'disabled' ? undefined : `it is ${String(mode)}`
  }
  await waitFor(systemClock, 'B to be given up', isGivenUp, 90_000)
  await waitFor(
    systemClock,
    'B to serve',
    async () => ((await B.client.send('GET', 'sys/mounts')).status === 200 ? undefined : 'not yet'),
    60_000,
  )
  await B.client.write('sys/mounts/own', { type: 'kv' })
  await B.client.write('own/a', { v: 1 })
  // The cluster can return to the role that it gave up.
  const again = await secondaryToken(A.client, 'performance', 'b')
  await B.client.write('sys/replication/performance/secondary/enable', { token: again })
  await lab.converged()
})
