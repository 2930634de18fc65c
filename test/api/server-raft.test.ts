import { beforeAll, describe, expect, it } from 'vitest'
import { ApiClient, errorsOf } from '../../src/client/api-client.js'
import { unseal } from '../../src/lab/requests/replication.js'
import { operationToken } from '../support/ceremony.js'
import { type Cluster, openClusters } from '../support/clusters.js'
import { freePorts } from '../support/local-config.js'
import { Program, STARTED } from '../support/program.js'
import { generationsOf } from '../support/stored-bytes.js'

/** sys/storage/raft: the requests of tools, and the restoration of a cluster and its secondaries from a snapshot. */
const clusters = openClusters()
let a: Cluster

beforeAll(async () => {
  a = await clusters.add('A')
  await a.client.write('sys/mounts/kept', { type: 'kv' })
  await a.client.write('kept/before', { word: 'in the snapshot' })
})

const save = async (cluster: Cluster): Promise<Buffer> => {
  const answer = await cluster.client.send('GET', 'sys/storage/raft/snapshot')
  expect([answer.status, answer.headers['content-type']]).toEqual([200, 'application/gzip'])
  return answer.bytes
}

const restore = (cluster: Cluster, raw: Buffer, path = 'sys/storage/raft/snapshot') =>
  cluster.client.send('POST', path, { raw, headers: { 'Content-Type': 'application/octet-stream' } })

describe('status', () => {
  it('raft status shows one node, which is the leader', async () => {
    const { data } = await a.client.read('sys/storage/raft/configuration')
    const { config } = data as { config: { index: number; servers: unknown[] } }
    expect(config.servers).toEqual([
      expect.objectContaining({ node_id: 'A', leader: true, voter: true, protocol_version: '3' }),
    ])
    expect(config.index).toBeGreaterThan(0)
    const { data: state } = await a.client.read('sys/storage/raft/autopilot/state')
    expect(state).toMatchObject({ healthy: true, leader: 'A', voters: ['A'] })
    expect(state).toMatchObject({ servers: { A: { stable_since: expect.stringMatching(/^\d{4}-.*Z$/) } } })
    expect((await a.client.send('PUT', 'sys/storage/raft/configuration', { body: {} })).status).toBe(405)
  })

  it('autopilot settings change one by one and persist', async () => {
    const path = 'sys/storage/raft/autopilot/configuration'
    const change = (body: object) => a.client.send('POST', path, { body })
    const initial = {
      cleanup_dead_servers: false,
      dead_server_last_contact_threshold: '24h0m0s',
      last_contact_threshold: '10s',
      max_trailing_logs: 1000,
      min_quorum: 0,
      server_stabilization_time: '10s',
      disable_upgrade_migration: false,
    }
    expect((await a.client.read(path)).data).toEqual(initial)
    expect((await change({ min_quorum: 3, last_contact_threshold: '20s' })).status).toBe(204)
    expect((await change({ cleanup_dead_servers: true, dead_server_last_contact_threshold: 120 })).status).toBe(204)
    const refused: [object, RegExp][] = [
      [{}, /no setting was sent/],
      [{ nothing: 1 }, /no setting was sent/],
      [{ min_quorum: 2 }, /min_quorum of at least 3/],
      [{ min_quorum: -1 }, /min_quorum must not be negative/],
      [{ min_quorum: 'many' }, /min_quorum/],
      [{ max_trailing_logs: -1 }, /max_trailing_logs must not be negative/],
      [{ dead_server_last_contact_threshold: '59s' }, /at least 1m/],
      [{ last_contact_threshold: '5s' }, /at least 6s/],
      [{ server_stabilization_time: 'soon' }, /server_stabilization_time/],
    ]
    for (const [body, text] of refused) {
      const answer = await change(body)
      expect([body, answer.status, errorsOf(answer)]).toEqual([body, 400, [expect.stringMatching(text)]])
    }
    await a.server.crash()
    await a.reopen()
    expect((await a.client.read(path)).data).toEqual({
      ...initial,
      min_quorum: 3,
      last_contact_threshold: '20s',
      cleanup_dead_servers: true,
      dead_server_last_contact_threshold: '2m0s',
    })
  })

  it('raft endpoints require the storage label raft, and name the storage otherwise', async () => {
    const { api } = await freePorts()
    await using program = new Program([
      'server',
      '-dev',
      `-dev-listen-address=127.0.0.1:${api}`,
      '-dev-root-token-id=root',
    ])
    await program.untilPrinted(STARTED)
    const client = new ApiClient({ address: `http://127.0.0.1:${api}`, token: 'root' })
    for (const path of ['configuration', 'autopilot/state', 'autopilot/configuration', 'snapshot']) {
      const answer = await client.send('GET', `sys/storage/raft/${path}`)
      const text = 'raft storage is not in use: the storage of this server is "inmem"'
      expect([path, answer.status, errorsOf(answer)]).toEqual([path, 400, [text]])
    }
  })

  it('join fails on an initialized server, and names an unreachable leader', async () => {
    const empty = await clusters.addStarted('E')
    const body = { leader_api_addr: 'http://127.0.0.1:1' }
    const own = await a.anonymous.send('POST', 'sys/storage/raft/join', { body })
    const text = 'this server already belongs to a cluster: to join another cluster, set an empty storage path'
    expect([own.status, errorsOf(own)]).toEqual([400, [text]])
    const answer = await empty.anonymous.send('POST', 'sys/storage/raft/join', { body })
    expect([answer.status, errorsOf(answer)[0]]).toEqual([500, expect.stringContaining('http://127.0.0.1:1')])
    const retried = await empty.anonymous.send('POST', 'sys/storage/raft/join', { body: { ...body, retry: true } })
    expect([retried.status, retried.json]).toEqual([200, { joined: false }])
  })
})

describe('a snapshot', () => {
  it('a raft snapshot needs sudo', async () => {
    await a.client.write('sys/policies/acl/reader', {
      policy: 'path "sys/storage/raft/*" { capabilities = ["read", "update"] }',
    })
    const { auth } = (await a.client.write('auth/token/create', { policies: ['reader'] })) as {
      auth: { client_token: string }
    }
    const token = auth.client_token
    expect((await a.client.send('GET', 'sys/storage/raft/snapshot', { token })).status).toBe(403)
    for (const path of ['snapshot', 'snapshot-force']) {
      const answer = await a.client.send('POST', `sys/storage/raft/${path}`, { token, raw: Buffer.alloc(100_000) })
      expect(answer.status, path).toBe(403)
    }
    expect((await a.client.send('GET', 'sys/storage/raft/configuration', { token })).status).toBe(200)
  })

  it('restore of a damaged or truncated raft snapshot changes nothing', async () => {
    const file = await save(a)
    const flipped = Buffer.from(file)
    flipped.writeUInt8((flipped[file.length >> 1] ?? 0) ^ 1, file.length >> 1)
    const generations = generationsOf(a.dataDir)
    const broken = new Map([
      ['no gzip', Buffer.from('hello')],
      ['cut short', file.subarray(0, file.length - 600)],
      ['flipped', flipped],
      ['empty', Buffer.alloc(0)],
    ])
    for (const [what, bytes] of broken) {
      const answer = await restore(a, bytes, 'sys/storage/raft/snapshot-force')
      expect([what, answer.status], errorsOf(answer).join()).toEqual([what, 400])
    }
    expect(generationsOf(a.dataDir)).toEqual(generations)
    expect((await a.client.read('kept/before')).data).toEqual({ word: 'in the snapshot' })
  })

  it('restore of a raft snapshot brings back the old data and removes later data', async () => {
    const file = await save(a)
    await a.client.write('kept/before', { word: 'changed' })
    await a.client.write('kept/after', { word: 'too late' })
    const before = (await a.client.read('sys/health')) as { last_wal: number; cluster_id: string }
    expect((await restore(a, file)).status).toBe(204)
    await a.untilServes()
    expect((await a.client.read('kept/before')).data).toEqual({ word: 'in the snapshot' })
    expect((await a.client.send('GET', 'kept/after')).status).toBe(404)
    const after = (await a.client.read('sys/health')) as { last_wal: number; cluster_id: string }
    expect(after.cluster_id).toBe(before.cluster_id)
    expect(after.last_wal, 'the log never counts backwards').toBeGreaterThan(before.last_wal)
    await a.server.crash()
    await a.reopen()
    expect((await a.client.read('kept/before')).data).toEqual({ word: 'in the snapshot' })
  })

  it('restore of a raft snapshot of another cluster needs force, and then its unseal keys', async () => {
    const b = await clusters.add('B')
    const file = await save(a)
    const refused = await restore(b, file)
    expect(refused.status).toBe(400)
    expect(errorsOf(refused).join()).toContain('different set of unseal keys; use the snapshot-force API')
    const { cluster_id } = (await b.client.read('sys/health')) as { cluster_id: string }
    expect((await restore(b, file, 'sys/storage/raft/snapshot-force')).status).toBe(204)
    await b.until('be sealed', async () => {
      const { sealed } = await b.anonymous.read('sys/seal-status')
      return sealed === true ? undefined : 'it is open'
    })
    await unseal(b.anonymous, a.unsealKeys)
    b.seal = a.seal
    await b.untilServes()
    expect((await b.client.read('kept/before')).data).toEqual({ word: 'in the snapshot' })
    expect(((await b.client.read('sys/health')) as { cluster_id: string }).cluster_id).toBe(cluster_id)
  })
})

describe('a primary that is restored', () => {
  it('secondaries follow a restored primary and discard the data that it discarded', async () => {
    const c = await clusters.add('C')
    const d = await clusters.add('D')
    await clusters.join(a, c, 'performance')
    await clusters.join(a, d, 'dr')
    const file = await save(a)
    await a.client.write('kept/after', { word: 'too late' })
    await clusters.untilReplicated(a, c, 'performance')
    await clusters.untilReplicated(a, d, 'dr')
    expect((await c.client.read('kept/after')).data).toEqual({ word: 'too late' })

    const onSecondary = await restore(c, file)
    expect([onSecondary.status, errorsOf(onSecondary).join()]).toEqual([
      400,
      expect.stringContaining('restore it on the primary'),
    ])
    expect((await restore(a, file)).status).toBe(204)
    await a.untilServes()
    await clusters.untilReplicated(a, c, 'performance')
    await clusters.untilReplicated(a, d, 'dr')
    expect((await c.client.send('GET', 'kept/after')).status).toBe(404)
    await a.client.write('kept/again', { word: 'on' })
    await clusters.untilReplicated(a, c, 'performance')
    expect((await c.client.read('kept/again')).data).toEqual({ word: 'on' })

    const gate = 'path disabled in replication DR secondary mode'
    for (const path of ['configuration', 'autopilot/state', 'autopilot/configuration']) {
      const target = `sys/storage/raft/${path}`
      for (const token of ['', 'wrong']) {
        const answer = await d.anonymous.send('GET', target, { query: { dr_operation_token: token } })
        expect([path, answer.status, errorsOf(answer)]).toEqual([path, 400, [gate]])
      }
      expect(errorsOf(await d.anonymous.send('GET', target, { token: a.rootToken }))).toEqual([gate])
    }
    expect(errorsOf(await d.anonymous.send('GET', 'sys/storage/raft/snapshot'))).toEqual([gate])
    const token = await operationToken(d)
    for (const path of ['configuration', 'autopilot/state', 'autopilot/configuration']) {
      const target = `sys/storage/raft/${path}`
      const inQuery = await d.anonymous.send('GET', target, { query: { dr_operation_token: token } })
      const inBody = await d.anonymous.send('PUT', target, { body: { dr_operation_token: token } })
      expect([path, inQuery.status, inBody.status]).toEqual([path, 200, 200])
    }
  })
})
