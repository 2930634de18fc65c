import { randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import { systemClock } from '../../../src/base/clock.js'
import { type LabCluster, startLab, waitFor } from '../../../src/index.js'
import { RogueSecondary } from '../../support/rogue-secondary.js'

const FILTERS = 'sys/replication/performance/primary/paths-filter'
const NIL = (path: string) => `404 no handler for route "${path}". route entry found, but backend is nil.`

type Client = LabCluster['client']

const asker =
  (client: Client) =>
  async (method: string, path: string, body: object = {}, headers: Record<string, string> = {}) => {
    const { status, json } = await client.send(method, path, method === 'GET' ? { headers } : { body, headers })
    return `${status} ${String(json?.errors ?? '')}`.trim()
  }

const idOf = async (primary: { status(kind: 'performance'): Promise<Record<string, unknown>> }): Promise<string> =>
  String((await primary.status('performance')).known_secondaries)

it('a secondary cannot move, tune or delete a hidden mount, or a namespace around it', async () => {
  await using lab = await startLab('pr')
  const { A, C } = lab
  const kv = { type: 'kv' }
  for (const mount of ['eu-deny', 'us']) await A.client.write(`sys/mounts/${mount}`, kv)
  await A.client.write('sys/auth/eu-role', { type: 'approle' })
  for (const name of ['open', 'shut']) {
    await A.client.write(`sys/namespaces/${name}`, {})
    await A.client.call('POST', 'sys/mounts/kv', { body: kv, headers: { 'X-Vault-Namespace': name } })
  }
  await A.client.write('eu-deny/a', { v: 1 })
  const paths = ['eu-deny/', 'auth/eu-role/', 'open/kv/', 'shut/']
  const filter = `${FILTERS}/${await idOf(A)}`
  await A.client.write(filter, { mode: 'deny', paths })
  await lab.converged()
  await C.takeRoot()
  const ask = asker(C.client)
  expect(await ask('POST', 'sys/remount', { from: 'eu-deny', to: 'us-deny' })).toBe(NIL('eu-deny/'))
  expect(await ask('POST', 'sys/remount', { from: 'auth/eu-role', to: 'auth/role' })).toBe(NIL('auth/eu-role/'))
  expect(await ask('POST', 'sys/mounts/eu-deny/tune', { description: 'x' })).toBe(NIL('eu-deny/'))
  expect(await ask('GET', 'sys/mounts/eu-deny/tune')).toBe(NIL('eu-deny/'))
  expect(await ask('POST', 'sys/auth/eu-role/tune', { description: 'x' })).toBe(NIL('auth/eu-role/'))
  expect(await ask('DELETE', 'sys/mounts/eu-deny')).toBe(NIL('eu-deny/'))
  expect(await ask('DELETE', 'sys/auth/eu-role')).toBe(NIL('auth/eu-role/'))
  expect(await ask('DELETE', 'sys/namespaces/open')).toBe(NIL('kv/'))
  expect(await ask('GET', 'sys/namespaces/shut')).toBe('404')
  expect(await ask('POST', 'sys/namespaces/shut')).toBe('404')
  expect(await ask('DELETE', 'sys/namespaces/shut')).toBe('204')
  const inside = { 'X-Vault-Namespace': 'shut' }
  expect(await ask('GET', 'sys/mounts', {}, inside)).toBe('404 namespace not found')
  expect(await ask('POST', 'sys/mounts/new', kv, inside)).toBe('404 namespace not found')
  expect(await ask('POST', 'sys/mounts/eu-deny', kv)).toBe('400 path is already in use at eu-deny/')
  // The primary has executed none of the requests, and C can move the mounts that it may see.
  const mounts = await A.client.read('sys/mounts')
  expect(mounts).toMatchObject({ 'eu-deny/': { description: '' } })
  expect((await A.client.call('LIST', 'sys/namespaces')).data).toMatchObject({ keys: ['open/', 'shut/'] })
  expect(await ask('POST', 'sys/remount', { from: 'us', to: 'us-new' })).toBe('200')
  expect(await ask('DELETE', 'sys/mounts/us-new')).toBe('204')
})

it('a filtered mount that the primary moves stays filtered: the secondary receives no key name', async () => {
  await using lab = await startLab('pr')
  const { A, C } = lab
  const { client } = A
  const filter = `${FILTERS}/${await idOf(A)}`
  const canary = `canary-${randomBytes(8).toString('hex')}`
  await client.write('sys/namespaces/ns1', {})
  for (const mount of ['denied', 'shown']) await client.write(`sys/mounts/${mount}`, { type: 'kv' })
  await client.write(filter, { mode: 'deny', paths: ['denied'] })
  await client.write(`${FILTERS}/tap`, { mode: 'deny', paths: ['denied'] })
  await using tap = await RogueSecondary.join(A, 'performance', 'tap')
  tap.listen()
  await lab.converged()
  await C.takeRoot()

  // Writes to the mount continue during the moves, under any of its names.
  let isMoving = true
  let written = 0
  const load = async () => {
    while (isMoving) {
      for (const mount of ['denied', 'moved', 'again']) {
        const { status } = await client.send('PUT', `${mount}/${canary}-${written}`, { body: { v: canary } })
        if (status === 204) written++
      }
    }
  }
  const loading = [load(), load()]
  const move = async (from: string, to: string) => {
    const before = written
    await client.write('sys/remount', { from, to })
    await waitFor(systemClock, 'writes after the move', async () => (written > before + 20 ? undefined : 'few'), 90_000)
  }
  for (let round = 0; round < 5; round++) {
    await move('denied', 'moved')
    expect((await client.read(filter)).data).toEqual({ mode: 'deny', paths: ['moved/'] })
    await move('moved', 'again')
    await move('again', 'denied')
  }
  isMoving = false
  await Promise.all(loading)
  expect((await client.read(filter)).data).toEqual({ mode: 'deny', paths: ['denied/'] })
  // The mount is removed permanently, with its deletions. A new mount at its path starts unfiltered.
  await client.call('DELETE', 'sys/mounts/denied')
  await client.write('sys/mounts/denied', { type: 'kv' })
  await client.write('denied/new', { v: 1 })
  // Writes until the tap receives a line: a disconnected tap receives only later lines.
  const isHeard = async () => {
    await client.write('shown/last-of-all', { v: 1 })
    return tap.text.includes('last-of-all') ? undefined : `cut off ${tap.cuts.length} times, last by ${tap.cuts.at(-1)}`
  }
  await waitFor(systemClock, 'the last write on the tap', isHeard, 60_000)
  await lab.converged()
  expect(written).toBeGreaterThan(300)
  expect(tap.text).not.toContain(canary)
  expect((await client.read(filter)).data).toEqual({ mode: 'deny', paths: [] })
  expect((await C.client.read('denied/new')).data).toEqual({ v: 1 })
  for (const name of ['denied', 'moved', 'again']) {
    expect((await C.client.send('GET', `${name}/${canary}-0`)).status, name).toBe(404)
  }
  const root = (await A.status('performance')).merkle_root
  expect((await C.status('performance')).merkle_root).toBe(root)
})

it('a mount moved to a denied path leaves the secondary, and deleting a namespace updates the rules', async () => {
  await using lab = await startLab('pr')
  const { A, C } = lab
  const { client } = A
  const filter = `${FILTERS}/${await idOf(A)}`
  await client.write('sys/mounts/shown', { type: 'kv' })
  await client.write('shown/a', { v: 1 })
  await client.write('sys/namespaces/ns1', {})
  await client.write(filter, { mode: 'deny', paths: ['soon'] })
  await lab.converged()
  await C.takeRoot()
  expect((await C.client.read('shown/a')).data).toEqual({ v: 1 })
  await client.write('sys/remount', { from: 'shown', to: 'soon' })
  await waitFor(
    systemClock,
    'the mount to be filtered',
    async () => {
      const answer = await asker(C.client)('GET', 'soon/a')
      return answer === NIL('soon/a') ? undefined : answer
    },
    60_000,
  )
  await lab.converged()
  await client.write(filter, { mode: 'allow', paths: ['ns1', 'soon', 'ns1/kv'] })
  await client.call('DELETE', 'sys/namespaces/ns1')
  expect((await client.read(filter)).data).toEqual({ mode: 'allow', paths: ['soon/'] })
})

it('while the data of a removed filter is replicating, reads are 503, never 404', async () => {
  await using lab = await startLab('pr')
  const { A, C } = lab
  await A.client.write('sys/mounts/kv', { type: 'kv' })
  await A.client.write('sys/mounts/other', { type: 'kv' })
  await A.client.write('kv/a', { v: 1 })
  await A.client.write('other/a', { v: 1 })
  const filter = `${FILTERS}/${await idOf(A)}`
  await A.client.write(filter, { mode: 'deny', paths: ['kv'] })
  await lab.converged()
  await C.takeRoot()
  const ask = asker(C.client)
  expect(await ask('GET', 'kv/a')).toBe(NIL('kv/a'))
  await C.anonymous.send('POST', '/_understudy/v1/states/hold', { body: { state: 'merkle-sync', kind: 'performance' } })
  await A.client.call('DELETE', filter)
  const seen: string[] = []
  const look = async () => {
    const answer = await ask('GET', 'kv/a')
    if (seen.at(-1) !== answer) seen.push(answer)
    return answer
  }
  const arriving = '503 the data of "kv/" is still replicating to this cluster'
  await waitFor(systemClock, '503', async () => ((await look()) === arriving ? undefined : seen.join()), 90_000)
  expect(await ask('LIST', 'kv')).toBe(arriving)
  expect(await ask('GET', 'other/a')).toBe('200')
  expect((await C.client.read('sys/mounts'))['kv/']).toBeDefined()
  await C.anonymous.send('POST', '/_understudy/v1/states/release', { body: {} })
  await waitFor(systemClock, '200', async () => ((await look()) === '200' ? undefined : seen.join()), 90_000)
  expect(seen).toEqual([NIL('kv/a'), arriving, '200'].filter((answer, at) => at > 0 || seen[0] === answer))
})
