import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../src/base/clock.js'
import { LIMITS } from '../../../src/base/limits.js'
import { ManualClock } from '../../support/manual-clock.js'
import { ApiClient, errorsOf } from '../../../src/client/api-client.js'
import type { IncomingRequest } from '../../../src/logical/incoming.js'
import type { Server } from '../../../src/server/server.js'
import type { Request } from '../../../src/logical/request.js'
import { RestartView } from '../../../src/server/runtime/server-state.js'
import { RequestQueue } from '../../../src/server/runtime/admission.js'
import { ANY_PORTS, localConfig } from '../../support/local-config.js'
import { sourceBehindGate, startServer } from '../../support/memory-server.js'
import { until } from '../../support/until.js'

/** During a role change, requests wait for the next runtime instead of failing. */

const RESTARTING = 'cluster is restarting after a replication change, try again'

const WITHHOLDING = { redact_version: true, redact_cluster_name: true, disable_replication_status_endpoints: true }

/** Starts an unsealed server. The next runtime does not open while `gate.isHeld` is true. */
const start = async (settings: Readonly<Record<string, string>> = {}) => {
  const { listener, ...local } = localConfig(ANY_PORTS, { understudy: settings })
  const withholding = { tcp: { address: '127.0.0.1:0', tls_disable: true, ...WITHHOLDING } }
  const { data, gate } = sourceBehindGate()
  const server = await startServer({ ...local, listener: [listener, withholding] }, { data })
  onTestFinished(() => {
    gate.isHeld = false
    return server.close(0)
  })
  const anonymous = new ApiClient({ address: `http://${server.addresses[0]}` })
  const { root_token, keys } = await anonymous.call('PUT', 'sys/init', {
    body: { secret_shares: 1, secret_threshold: 1 },
  })
  const share = (keys as string[])[0]
  await anonymous.call('PUT', 'sys/unseal', { body: { key: share } })
  const client = new ApiClient({ address: `http://${server.addresses[0]}`, token: String(root_token) })
  await client.call('POST', 'sys/mounts/kv', { body: { type: 'kv' } })
  await client.call('PUT', 'kv/it', { body: { value: 1 } })
  return { server, client, anonymous, share, gate, rootToken: String(root_token) }
}

const waiting = ({ server }: { server: Server }) => server.host.admission.waiting

test('requests wait during a role change, and the next runtime serves them', async () => {
  const it = await start({ role_change_wait: '20s' })
  it.gate.isHeld = true
  it.server.host.restart('a test')
  const read = it.client.send('GET', 'kv/it')
  const write = it.client.send('PUT', 'kv/it', { body: { value: 2 } })
  const bad = it.anonymous.send('GET', 'kv/it', { token: 'unknown' })
  await until(() => waiting(it) === 3)
  it.gate.isHeld = false
  expect((await read).status).toBe(200)
  expect((await write).status).toBe(204)
  expect((await bad).status).toBe(403)
  expect((await it.client.send('GET', 'kv/it')).json?.data).toEqual({ value: 2 })
})

test('a redacting listener hides version and replication status during a role change', async () => {
  const it = await start()
  it.gate.isHeld = true
  it.server.host.restart('a test')
  const redacted = new ApiClient({ address: `http://${it.server.addresses[1]}` })
  for (const target of ['sys/health', 'sys/seal-status'])
    expect(await redacted.call('GET', target)).toMatchObject({ version: '', cluster_id: expect.stringMatching(/./) })
  expect(await redacted.call('PUT', 'sys/unseal', { body: { key: it.share } })).toMatchObject({ version: '' })
  expect(await redacted.call('GET', 'sys/seal-status')).not.toHaveProperty('cluster_name')
  expect(await it.anonymous.call('GET', 'sys/seal-status')).toHaveProperty('cluster_name')
  for (const target of ['sys/replication/status', 'sys/replication/dr/status', 'sys/replication/performance/status']) {
    expect((await redacted.send('GET', target)).status).toBe(404)
    expect((await it.anonymous.send('GET', target)).status).toBe(200)
  }
})

test('a request fails after role_change_wait, and its error asks to retry', async () => {
  const it = await start({ role_change_wait: '100ms' })
  it.gate.isHeld = true
  it.server.host.restart('a test')
  const answer = await it.client.send('GET', 'kv/it')
  expect([answer.status, errorsOf(answer)]).toEqual([503, [RESTARTING]])
  expect(it.server.status.isRestarting).toBe(true)
})

test('role_change_wait 0 rejects a write during a restart at once', async () => {
  const it = await start({ role_change_wait: '0' })
  it.gate.isHeld = true
  it.server.host.restart('a test')
  const answer = await it.client.send('PUT', 'kv/it', { body: { value: 2 } })
  expect([answer.status, errorsOf(answer)]).toEqual([503, [RESTARTING]])
})

test('concurrent role changes run one after another, each on the state that the previous one left', async () => {
  const it = await start({ role_change_wait: '20s' })
  const call = (path: string) => it.client.send('PUT', `sys/replication/${path}`)
  const answers = await Promise.all([
    call('dr/primary/enable'),
    call('performance/primary/enable'),
    call('dr/primary/disable'),
    call('performance/primary/enable'),
  ])
  expect(answers.map((answer) => [answer.status, errorsOf(answer)])).toEqual([
    [200, []],
    [200, []],
    [200, []],
    [400, [expect.stringContaining('primary')]],
  ])
  const { json } = await it.anonymous.send('GET', 'sys/replication/status')
  expect(json?.data).toMatchObject({ dr: { mode: 'disabled' }, performance: { mode: 'primary' } })
})

test('a role change waits at most role_change_wait for another one', async () => {
  const it = await start({ role_change_wait: '100ms' })
  it.gate.isHeld = true
  const call = (path: string) => it.client.send('PUT', `sys/replication/${path}`)
  const [first, second] = await Promise.all([call('dr/primary/enable'), call('performance/primary/enable')])
  expect([first.status, second.status, errorsOf(second)]).toEqual([200, 503, [RESTARTING]])
})

test('a role change fails after role_change_wait while another one waits for its secondaries', async () => {
  const it = await start({ role_change_wait: '200ms' })
  const admitted = (id: string) => {
    const request = { id, operation: 'update', path: 'sys/replication/dr/primary/demote' } as IncomingRequest
    return { request, done: it.server.host.admission.admit(request) }
  }
  const first = admitted('first')
  await first.done
  const second = admitted('second')
  await expect(second.done).rejects.toThrow(RESTARTING)
  it.server.host.admission.leave(second.request)
  const third = admitted('third')
  it.server.host.admission.leave(first.request)
  await third.done
  it.server.host.admission.leave(third.request)
})

test('a request waits role_change_wait in total, across several queues', async () => {
  const clock = new ManualClock()
  const queues = [1, 2, 3].map(() => new RequestQueue({ clock, waitMs: 1000 }))
  const request: { waitEndMs?: number } = {}
  const passing = (async () => {
    for (const queue of queues) await queue.pass(request, () => true)
    await queues[0]?.pass(request, () => true, 100)
  })()
  await until(() => queues[0]?.size === 1)
  expect(queues[1]?.leftMs(request)).toBe(1000)
  clock.advance(600)
  expect(queues[1]?.leftMs(request)).toBe(400)
  clock.advance(400)
  await passing
  const later: { waitEndMs?: number } = {}
  const short = queues[0]?.pass(later, () => true, 100)
  clock.advance(100)
  await short
  expect(queues[0]?.leftMs(later)).toBe(900)
})

test('status reads, key shares and a second initialization are answered during a role change', async () => {
  const it = await start({ role_change_wait: '20s' })
  const before = await it.anonymous.send('GET', 'sys/seal-status')
  it.gate.isHeld = true
  it.server.host.restart('a test')
  const unseal = await it.anonymous.send('PUT', 'sys/unseal', { body: { key: it.share } })
  expect([unseal.status, unseal.json]).toEqual([200, before.json])
  const init = await it.anonymous.send('PUT', 'sys/init', { body: { secret_shares: 1, secret_threshold: 1 } })
  expect([init.status, errorsOf(init)]).toEqual([400, ['Vault is already initialized']])
  const health = await it.anonymous.send('GET', 'sys/health', { query: { standbycode: '418' } })
  expect([health.status, health.json?.standby]).toEqual([200, false])
  for (const path of ['sys/leader', 'sys/init', 'sys/replication/status']) {
    expect((await it.anonymous.send('GET', path)).status, path).toBe(200)
  }
})

test('a waiting request whose client has disconnected is dropped and not executed', async () => {
  const it = await start({ role_change_wait: '20s' })
  it.gate.isHeld = true
  it.server.host.restart('a test')
  const leaving = new ApiClient({ address: it.client.address, token: it.rootToken, timeoutMs: 500 })
  const left = leaving.send('PUT', 'kv/it', { body: { value: 3 } }).catch(() => 'left')
  await until(() => waiting(it) === 1)
  expect(await left).toBe('left')
  await until(() => waiting(it) === 0)
  it.gate.isHeld = false
  await until(() => !it.server.status.isRestarting)
  expect((await it.client.send('GET', 'kv/it')).json?.data).toEqual({ value: 1 })
})

test('large bodies wait unread during a role change, and all of them are served', async () => {
  const it = await start({ role_change_wait: '20s' })
  it.gate.isHeld = true
  it.server.host.restart('a test')
  const body = { value: 'x'.repeat(20 * 1024 * 1024) }
  const answers = Array.from({ length: 4 }, () => it.client.send('PUT', 'kv/large', { body }))
  await until(() => waiting(it) === 4)
  it.gate.isHeld = false
  expect((await Promise.all(answers)).map((answer) => answer.status)).toEqual([204, 204, 204, 204])
})

test('the request queue limits number and bytes of waiting requests, and frees the share of disconnected clients', async () => {
  const queue = new RequestQueue({ clock: systemClock, waitMs: 20_000 })
  let mustWait = true
  const enter = (bodyBytes: number, onGone?: IncomingRequest['onGone']) =>
    queue.pass({ bodyBytes, ...(onGone && { onGone }) }, () => mustWait)
  let leave = () => {}
  const large = enter(LIMITS.waitingBytesMax, (listener) => {
    leave = listener
    return () => {}
  })
  expect(queue.size).toBe(1)
  await enter(1)
  const empty = Array.from({ length: LIMITS.waitingRequestsMax - 1 }, () => enter(0))
  await enter(0)
  expect(queue.size).toBe(LIMITS.waitingRequestsMax)
  leave()
  await expect(large).rejects.toThrow('the client disconnected')
  const second = enter(LIMITS.waitingBytesMax)
  expect(queue.size).toBe(LIMITS.waitingRequestsMax)
  mustWait = false
  queue.wake()
  await Promise.all([...empty, second])
  expect(queue.size).toBe(0)
})

test('key shares are rejected with a retry error while a node waits for its peers', async () => {
  const { server } = await start()
  const { runtime, status, systemRules } = server
  if (!runtime) throw new Error('no runtime')
  const unseal = { path: 'sys/unseal', operation: 'update' } as Request
  const answered = (isAwaitingOthers: boolean) =>
    new RestartView(runtime, { status, systemRules, peers: { isAwaitingOthers } }, systemClock).backend.fallback?.(
      unseal,
      unseal.path,
    )
  expect(answered(false)).toMatchObject({ data: { sealed: false } })
  expect(() => answered(true)).toThrow(RESTARTING)
})

test('a restarting server without known roles reports no role', async () => {
  const { server } = await start()
  const { runtime, status, systemRules } = server
  if (!runtime) throw new Error('no runtime')
  const showing = (one: typeof runtime) => {
    const { backend } = new RestartView(one, { status, systemRules, peers: undefined }, systemClock)
    const read = { path: 'sys/replication/performance/status', operation: 'read' } as Request
    return () => backend.fallback?.(read, read.path)
  }
  expect(showing(runtime)()).toMatchObject({ data: { mode: 'disabled' } })
  // A standby has no cluster in its runtime.
  const ofStandby = Object.create(runtime, { cluster: { value: undefined } }) as typeof runtime
  Object.defineProperty(ofStandby, 'seal', { value: runtime.seal })
  expect(showing(ofStandby)).toThrow(RESTARTING)
})
