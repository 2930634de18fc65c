import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { type Cluster, Clusters } from '../support/clusters.js'
import { type Drill, drill } from '../support/drill.js'
import { checkMonitoring } from '../support/monitoring.js'
import { openTlsFront, type TlsFront } from '../support/tls-front.js'

/**
 * How a secondary joins or fails to join: encrypted tokens (F12), an unknown CA (F18), expired tokens (F19), and a
 * second membership after both sides were disabled (F14). A failed token wipes nothing.
 */
const clusters = new Clusters()
const directory = mkdtempSync(path.join(tmpdir(), 'understudy-ca-'))
let A: Cluster
let C: Cluster
let front: TlsFront
let drills = 0

beforeAll(async () => {
  A = await clusters.add('A')
  await A.client.write('sys/mounts/kv', { type: 'kv' })
  await clusters.makePrimary(A, 'performance')
  front = await openTlsFront(Number(new URL(A.apiAddress).port))
})

beforeEach(async () => {
  C = await clusters.add(`C${++drills}`)
  await C.client.write('sys/mounts/own', { type: 'kv' })
  await C.client.write('own/it', { value: 'of C itself' })
})

afterEach(() => C.close())

afterAll(async () => {
  await clusters.close()
  await front.close()
  rmSync(directory, { recursive: true, force: true })
})

const ENABLE = 'sys/replication/performance/secondary/enable'

const expectUntouched = async (on: Drill): Promise<void> => {
  expect(await C.status('performance')).toEqual({ mode: 'disabled' })
  expect(await on.read(C, 'own/it')).toBe('of C itself')
}

/** Returns the number of API requests that a cluster has handled. Reading it is not counted. */
const requestsOf = async (cluster: Cluster): Promise<number> => {
  const { bytes } = await cluster.anonymous.send('GET', '/_understudy/v1/metrics')
  return Number(/^vault_core_handle_request_count (\d+)/m.exec(bytes.toString())?.[1])
}

const expectJoined = async (on: Drill, id: string): Promise<void> => {
  C.seal = { ...A.seal, rootToken: '' }
  await checkMonitoring(on, A, C, 'performance', id)
  await clusters.takeRoot(C)
  await on.write(A, `kv/${id}`, `for ${id}`)
  await on.reads(C, `kv/${id}`, `for ${id}`)
  await on.refused(C, 'GET', 'own/it', undefined, 404, 'no handler for route')
}

it('F12: a secondary joins with an encrypted token, without the API of the primary', () =>
  drill('F12 encrypted token', async (on) => {
    const key = (await on.ok(C, 'POST', 'sys/replication/performance/secondary/generate-public-key')).data
    const issue = 'sys/replication/performance/primary/secondary-token'
    await on.refused(
      A,
      'POST',
      issue,
      { id: 'f12', secondary_public_key: 'bm9uZQ==' },
      400,
      'invalid secondary_public_key',
    )
    const issued = await on.ok(A, 'POST', issue, { id: 'f12', ...key })
    expect(issued.body.wrap_info).toBeNull()
    const { token } = issued.data

    on.step('another cluster cannot use it; nobody has to be reached over the API')
    await on.refused(A, 'POST', ENABLE, { token }, 400, '')
    const requestsBefore = await requestsOf(A)
    expect(requestsBefore).toBeGreaterThan(0)
    const primary_api_addr = 'http://127.0.0.1:1'
    await on.change(C, 'performance/secondary/enable', { token, primary_api_addr }, 'has successfully found')
    await on.status(C, 'performance', { mode: 'secondary', state: 'stream-wals', connection_state: 'ready' })
    expect(await requestsOf(A), 'no request reached the API of the primary').toBe(requestsBefore)
    await expectJoined(on, 'f12')
  }))

it('F18: a secondary rejects a primary with an unknown CA', () =>
  drill('F18 wrong CA', async (on) => {
    const primary_api_addr = front.address
    const token = await on.token(A, 'performance', 'f18')
    await on.refused(
      C,
      'POST',
      ENABLE,
      { token, primary_api_addr },
      400,
      'x509: certificate signed by unknown authority',
    )
    await expectUntouched(on)
    const wrong = path.join(directory, 'none.pem')
    await on.refused(C, 'POST', ENABLE, { token, primary_api_addr, ca_file: wrong }, 400, '')
    await expectUntouched(on)

    on.step('with the right CA and a new token it joins')
    const ca_file = path.join(directory, 'ca.pem')
    writeFileSync(ca_file, front.caPem)
    const again = await on.token(A, 'performance', 'f18')
    await on.change(
      C,
      'performance/secondary/enable',
      { token: again, primary_api_addr, ca_file },
      'has successfully found',
    )
    await expectJoined(on, 'f18')
  }))

it('F19: a secondary rejects expired and used activation tokens', () =>
  drill('F19 expired activation token', async (on) => {
    const expired = await on.token(A, 'performance', 'f19', { ttl: '2s' })
    on.step('three seconds later, by the clock of the primary')
    await on.ok(A, 'POST', '/_understudy/v1/clock', { skew: '3s' })
    await on.refused(C, 'POST', ENABLE, { token: expired }, 400, 'wrapping token is not valid or does not exist')
    await expectUntouched(on)
    await on.refused(C, 'POST', ENABLE, { token: expired }, 400, 'wrapping token is not valid or does not exist')
    await on.ok(A, 'POST', '/_understudy/v1/clock', { skew: '0s' })

    on.step('the lab ends one at once')
    const ended = await on.token(A, 'performance', 'f19')
    await on.ok(A, 'POST', '/_understudy/v1/faults/expire-token', { id: 'f19', kind: 'performance' })
    await on.refused(C, 'POST', ENABLE, { token: ended }, 400, '')
    await expectUntouched(on)

    on.step('an id is free until a bootstrap succeeded; a used token is worthless')
    const good = await on.token(A, 'performance', 'f19')
    await on.change(C, 'performance/secondary/enable', { token: good }, 'has successfully found')
    await expectJoined(on, 'f19')
    const other = await clusters.add('N')
    await on.refused(other, 'POST', ENABLE, { token: good }, 400, 'wrapping token is not valid or does not exist')
    await other.close()
    const issue = 'sys/replication/performance/primary/secondary-token'
    await on.refused(A, 'POST', issue, { id: 'f19' }, 400, 'id "f19" is already in use by a secondary; revoke it first')
  }))

it('F14: clusters join in a new set after both were disabled', () =>
  drill('F14 disable and enable again', async (on) => {
    const { cluster_id: first } = await A.status('performance')
    await on.change(
      C,
      'performance/secondary/enable',
      { token: await on.token(A, 'performance', 'f14') },
      'has successfully found',
    )
    await expectJoined(on, 'f14')
    await on.change(C, 'performance/secondary/disable', {}, 'is having replication disabled')
    await C.untilServes()
    expect(await C.status('performance')).toEqual({ mode: 'disabled' })
    expect(await on.read(C, 'kv/f14'), 'disabling keeps data').toBe('for f14')
    await on.write(C, 'kv/own-life', 'written after it left')
    expect((await A.status('performance')).known_secondaries).toContain('f14')

    await on.change(A, 'performance/primary/disable', {}, 'is having replication disabled')
    await A.untilServes()
    await on.change(A, 'performance/primary/enable', {}, 'is being enabled')
    await A.untilServes()
    const second = await A.status('performance')
    expect(second.known_secondaries).toEqual([])
    expect(second.cluster_id).not.toBe(first)
    const token = await on.token(A, 'performance', 'f14')
    await on.change(C, 'performance/secondary/enable', { token }, 'has successfully found')
    await expectJoined(on, 'f14')
    expect((await C.status('performance')).cluster_id).toBe(second.cluster_id)
    expect(await on.read(C, 'kv/own-life'), 'enabling wipes').toBeUndefined()
  }))
