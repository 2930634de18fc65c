import { mkdtempSync, readdirSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { silentLog } from '../../src/base/log.js'
import { type PortPair, randomPorts } from '../../src/lab/model/ports.js'
import { loadServerConfig } from '../../src/server/config/server-config.js'
import type { Server } from '../../src/server/server.js'
import { startServerFrom } from '../../src/server/start.js'
import { EtcdProcess, startEtcd } from '../support/etcd.js'
import { portsOf } from '../support/node-processes.js'
import { nodeConfig, TestNode } from '../support/nodes.js'
import { until } from '../support/until.js'

/** Servers that keep their data in an etcd. */

let etcd: EtcdProcess
let prefixes = 0

beforeAll(async () => {
  etcd = await EtcdProcess.prepare('http')
  await etcd.run()
})

afterAll(() => etcd.destroy())

/** One place for a server, at which one after the other is started. */
class RaftTestNode extends TestNode {
  readonly #config: object
  server: Server | undefined

  constructor(name: string, ports: PortPair, config: object) {
    super(name, ports)
    this.#config = config
  }

  get isRunning(): boolean {
    return this.server !== undefined
  }

  async start(): Promise<void> {
    const { config, problems } = loadServerConfig([], { VAULT_LOCAL_CONFIG: JSON.stringify(this.#config) })
    if (!config) throw new Error(JSON.stringify(problems))
    this.server = await startServerFrom(config, silentLog)
  }

  async stop(): Promise<void> {
    const { server } = this
    this.server = undefined
    await server?.close(0)
  }

  crash(): Promise<void> {
    return this.stop()
  }

  async unseal(key: string): Promise<void> {
    await until(async () => (await this.anonymous.read('sys/seal-status')).initialized === true)
    await this.anonymous.call('PUT', 'sys/unseal', { body: { key } })
    await until(async () => [200, 473].includes(await this.health()))
  }

  async active(): Promise<void> {
    await until(async () => (await this.health()) === 200)
  }
}

const placesFor = async (names: readonly string[], storage: object = {}, own: object = {}): Promise<RaftTestNode[]> => {
  const path = `/servers-${prefixes++}`
  const ports = await randomPorts([...names])
  return names.map((name) => {
    const pair = portsOf(ports, name)
    const stored = { etcd: { address: `http://${etcd.address}`, path, ...storage } }
    const place = new RaftTestNode(name, pair, nodeConfig(pair, stored, { leader_lease: '4s', ...own }))
    onTestFinished(() => place.stop())
    return place
  })
}

const initialize = async (place: RaftTestNode): Promise<{ key: string; token: string }> => {
  const body = { secret_shares: 1, secret_threshold: 1 }
  const made = await place.anonymous.call('PUT', 'sys/init', { body })
  const [key] = made.keys as string[]
  return { key: String(key), token: String(made.root_token) }
}

const clientOf = (place: RaftTestNode, token: string) => place.anonymous.with({ token })

test('a server finds its data in etcd again, with an empty disk', async () => {
  const [place] = (await placesFor(['A'])) as [RaftTestNode]
  await place.start()
  const { key, token } = await initialize(place)
  await place.unseal(key)
  await place.active()
  const client = clientOf(place, token)
  await client.call('POST', 'sys/mounts/kv', { body: { type: 'kv', options: { version: '2' } } })
  await client.call('POST', 'kv/data/a', { body: { data: { value: 'kept' } } })
  const before = await place.anonymous.read('sys/seal-status')
  expect(before.storage_type).toBe('etcd')
  await place.stop()

  await place.start()
  expect(await place.health()).toBe(503)
  await place.unseal(key)
  await place.active()
  expect((await clientOf(place, token).read('kv/data/a')).data).toMatchObject({ data: { value: 'kept' } })
  expect((await place.anonymous.read('sys/seal-status')).cluster_id).toBe(before.cluster_id)
})

test('two servers below one prefix are nodes of a cluster, and one goes on when the other has ended', async () => {
  const [a, b] = (await placesFor(['A', 'B'], { ha_enabled: 'true' })) as [RaftTestNode, RaftTestNode]
  await a.start()
  const { key, token } = await initialize(a)
  await a.unseal(key)
  await a.active()
  await b.start()
  await b.unseal(key)
  expect(await b.health()).toBe(473)
  await clientOf(b, token).call('POST', 'sys/mounts/kv', { body: { type: 'kv' } })
  await clientOf(b, token).call('POST', 'kv/a', { body: { value: 'by the standby' } })
  expect((await clientOf(a, token).read('kv/a')).data).toEqual({ value: 'by the standby' })
  await a.stop()
  await b.active()
  expect((await clientOf(b, token).read('kv/a')).data).toEqual({ value: 'by the standby' })
  await clientOf(b, token).call('POST', 'kv/a', { body: { value: 'by the next' } })
  await a.start()
  await a.unseal(key)
  expect(await a.health()).toBe(473)
  expect((await clientOf(a, token).read('kv/a')).data).toEqual({ value: 'by the next' })
})

test('a second server is refused where none is wanted, and may come when the first is gone', async () => {
  const [a, b] = (await placesFor(['A', 'B'], {}, { leader_lease: '2s' })) as [RaftTestNode, RaftTestNode]
  await a.start()
  const { key } = await initialize(a)
  await a.unseal(key)
  await a.active()
  await expect(b.start()).rejects.toThrow('with ha_enabled = true each of them is a node of one cluster')
  expect(await a.health()).toBe(200)
  await a.stop()
  await b.start()
  await b.unseal(key)
  await b.active()
})

test('a copy in a directory is read again when it was closed in order, and anew when it is damaged', async () => {
  const directory = mkdtempSync(path.join(tmpdir(), 'understudy-etcd-copy-'))
  onTestFinished(() => rm(directory, { recursive: true, force: true }))
  const [place] = (await placesFor(['A'], {}, { data_dir: directory })) as [RaftTestNode]
  await place.start()
  const { key, token } = await initialize(place)
  await place.unseal(key)
  await place.active()
  await clientOf(place, token).call('POST', 'sys/mounts/kv', { body: { type: 'kv' } })
  for (const damage of [false, true]) {
    await clientOf(place, token).call('POST', 'kv/a', { body: { value: `damage ${damage}` } })
    await place.stop()
    const copy = path.join(directory, 'copy')
    const files = readdirSync(copy, { recursive: true, encoding: 'utf8' }).filter((name) => /\.(?:log|ldb)$/.test(name))
    expect(files.length).toBeGreaterThan(0)
    if (damage) for (const file of files) writeFileSync(path.join(copy, file), 'damaged')
    await place.start()
    await place.unseal(key)
    await place.active()
    expect((await clientOf(place, token).read('kv/a')).data).toEqual({ value: `damage ${damage}` })
  }
})

test('a server says which etcd does not answer', async () => {
  const nobody = { address: 'http://127.0.0.1:1', request_timeout: '100ms' }
  const [place] = (await placesFor(['A'], nobody)) as [RaftTestNode]
  await expect(place.start()).rejects.toThrow('the etcd at 127.0.0.1:1 cannot be used: no member has answered')
})

test('a server whose etcd is gone refuses writes, ends when it is told to, and goes on when etcd is back', async () => {
  const own = await startEtcd()
  const storage = { address: `http://${own.address}`, request_timeout: '500ms' }
  const [place] = (await placesFor(['A'], storage, { role_change_wait: '100ms' })) as [RaftTestNode]
  await place.start()
  const { key, token } = await initialize(place)
  await place.unseal(key)
  await place.active()
  await clientOf(place, token).call('POST', 'sys/mounts/kv', { body: { type: 'kv' } })
  await clientOf(place, token).call('POST', 'kv/a', { body: { value: 'kept' } })
  await own.kill()
  const refused = await clientOf(place, token).send('POST', 'kv/a', { body: { value: 'lost' } })
  expect(refused.status).toBe(503)
  await until(async () => (await place.health()) !== 200)
  await own.run()
  await place.active()
  expect((await clientOf(place, token).read('kv/a')).data).toEqual({ value: 'kept' })
  await own.kill()
  await until(async () => (await place.health()) !== 200)
  await place.stop()
  await own.run()
  await place.start()
  await place.unseal(key)
  await place.active()
  expect((await clientOf(place, token).read('kv/a')).data).toEqual({ value: 'kept' })
})
