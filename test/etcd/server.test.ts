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

/** Servers that store their data in etcd. */

let etcd: EtcdProcess
let prefixes = 0

beforeAll(async () => {
  etcd = await EtcdProcess.prepare('http')
  await etcd.run()
})

afterAll(() => etcd.destroy())

/** A node that is started and stopped in the process of the test, each time with the same configuration. */
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

const nodesFor = async (names: readonly string[], storage: object = {}, own: object = {}): Promise<RaftTestNode[]> => {
  const path = `/servers-${prefixes++}`
  const ports = await randomPorts([...names])
  return names.map((name) => {
    const pair = portsOf(ports, name)
    const stored = { etcd: { address: `http://${etcd.address}`, path, ...storage } }
    const node = new RaftTestNode(name, pair, nodeConfig(pair, stored, { leader_lease: '4s', ...own }))
    onTestFinished(() => node.stop())
    return node
  })
}

const initialize = async (node: RaftTestNode): Promise<{ key: string; token: string }> => {
  const body = { secret_shares: 1, secret_threshold: 1 }
  const made = await node.anonymous.call('PUT', 'sys/init', { body })
  const [key] = made.keys as string[]
  return { key: String(key), token: String(made.root_token) }
}

const clientOf = (node: RaftTestNode, token: string) => node.anonymous.with({ token })

test('a server over etcd reads its data from etcd when its disk is empty', async () => {
  const [node] = (await nodesFor(['A'])) as [RaftTestNode]
  await node.start()
  const { key, token } = await initialize(node)
  await node.unseal(key)
  await node.active()
  const client = clientOf(node, token)
  await client.call('POST', 'sys/mounts/kv', { body: { type: 'kv', options: { version: '2' } } })
  await client.call('POST', 'kv/data/a', { body: { data: { value: 'kept' } } })
  const before = await node.anonymous.read('sys/seal-status')
  expect(before.storage_type).toBe('etcd')
  await node.stop()

  await node.start()
  expect(await node.health()).toBe(503)
  await node.unseal(key)
  await node.active()
  expect((await clientOf(node, token).read('kv/data/a')).data).toMatchObject({ data: { value: 'kept' } })
  expect((await node.anonymous.read('sys/seal-status')).cluster_id).toBe(before.cluster_id)
})

test('two servers with the same etcd prefix are nodes of one cluster, and the standby takes over', async () => {
  const [a, b] = (await nodesFor(['A', 'B'], { ha_enabled: 'true' })) as [RaftTestNode, RaftTestNode]
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

test('a second server is rejected without ha_enabled, and accepted after the first one stops', async () => {
  const [a, b] = (await nodesFor(['A', 'B'], {}, { leader_lease: '2s' })) as [RaftTestNode, RaftTestNode]
  await a.start()
  const { key } = await initialize(a)
  await a.unseal(key)
  await a.active()
  await expect(b.start()).rejects.toThrow('to make both servers nodes of one cluster, set ha_enabled = true on both')
  expect(await a.health()).toBe(200)
  await a.stop()
  await b.start()
  await b.unseal(key)
  await b.active()
})

test('a server over etcd continues with its copy after a clean stop, and replaces a damaged copy', async () => {
  const directory = mkdtempSync(path.join(tmpdir(), 'understudy-etcd-copy-'))
  onTestFinished(() => rm(directory, { recursive: true, force: true }))
  const [node] = (await nodesFor(['A'], {}, { data_dir: directory })) as [RaftTestNode]
  await node.start()
  const { key, token } = await initialize(node)
  await node.unseal(key)
  await node.active()
  await clientOf(node, token).call('POST', 'sys/mounts/kv', { body: { type: 'kv' } })
  for (const damage of [false, true]) {
    await clientOf(node, token).call('POST', 'kv/a', { body: { value: `damage ${damage}` } })
    await node.stop()
    const copy = path.join(directory, 'copy')
    const files = readdirSync(copy, { recursive: true, encoding: 'utf8' }).filter((name) => /\.(?:log|ldb)$/.test(name))
    expect(files.length).toBeGreaterThan(0)
    if (damage) for (const file of files) writeFileSync(path.join(copy, file), 'damaged')
    await node.start()
    await node.unseal(key)
    await node.active()
    expect((await clientOf(node, token).read('kv/a')).data).toEqual({ value: `damage ${damage}` })
  }
})

test('a server reports the address of an etcd that does not respond', async () => {
  const unreachable = { address: 'http://127.0.0.1:1', request_timeout: '100ms' }
  const [node] = (await nodesFor(['A'], unreachable)) as [RaftTestNode]
  await expect(node.start()).rejects.toThrow('the etcd at 127.0.0.1:1 cannot be used: no member responded')
})

test('a server without its etcd rejects writes, can be stopped, and continues after etcd restarts', async () => {
  const own = await startEtcd()
  const storage = { address: `http://${own.address}`, request_timeout: '500ms' }
  const [node] = (await nodesFor(['A'], storage, { role_change_wait: '100ms' })) as [RaftTestNode]
  await node.start()
  const { key, token } = await initialize(node)
  await node.unseal(key)
  await node.active()
  await clientOf(node, token).call('POST', 'sys/mounts/kv', { body: { type: 'kv' } })
  await clientOf(node, token).call('POST', 'kv/a', { body: { value: 'kept' } })
  await own.kill()
  const refused = await clientOf(node, token).send('POST', 'kv/a', { body: { value: 'lost' } })
  expect(refused.status).toBe(503)
  await until(async () => (await node.health()) !== 200)
  await own.run()
  await node.active()
  expect((await clientOf(node, token).read('kv/a')).data).toEqual({ value: 'kept' })
  await own.kill()
  await until(async () => (await node.health()) !== 200)
  await node.stop()
  await own.run()
  await node.start()
  await node.unseal(key)
  await node.active()
  expect((await clientOf(node, token).read('kv/a')).data).toEqual({ value: 'kept' })
})
