import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { etcdsOf, join, type NodeProcess, openFirst, raftProcesses, serversOf } from '../support/node-processes.js'
import type { TestNodes } from '../support/nodes.js'
import { until } from '../support/until.js'

/** Failures while a server joins another one with storage "raft". */

type Additions = (name: string) => object

/** Starts nodes. `more` returns additions to the configuration of a node. */
const launch = async (names: readonly string[], additions: Additions = () => ({})): Promise<TestNodes<NodeProcess>> => {
  const nodes = await raftProcesses(names)
  for (const node of nodes.all) {
    const { configure } = node
    node.configure = (dataDir) => {
      const { seal, ...own } = additions(node.name) as { seal?: object }
      const config = configure(dataDir) as { readonly understudy: object }
      return { ...config, understudy: { ...config.understudy, ...own }, ...(seal && { seal }) }
    }
  }
  await Promise.all(nodes.all.map((node) => node.start()))
  return nodes
}

const pair = async (additions?: Additions) => {
  const nodes = await launch(['A', 'B'], additions)
  const [a, b] = nodes.all as [NodeProcess, NodeProcess]
  return { nodes, a, b }
}

const tryJoin = (node: NodeProcess, leader_api_addr: string) =>
  node.send('PUT', 'sys/storage/raft/join', { body: { leader_api_addr } })

const unsealed = (nodes: TestNodes<NodeProcess>, node: NodeProcess) =>
  Promise.allSettled(nodes.keys.slice(0, 2).map((key) => node.send('PUT', 'sys/unseal', { body: { key } })))

/** Starts a server that responds as `answer` returns, until the test ends. Resolves to its address. */
const serve = async (answer: (url: string, body: string) => Promise<{ status: number; text: string }>) => {
  const server = http.createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += String(chunk)
    const { status, text } = await answer(request.url ?? '', body)
    response.writeHead(status).end(text)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test('repeated key shares during a join start the member only once', async () => {
  const { nodes, a, b } = await pair()
  await openFirst(nodes)
  await join(b, a)
  const answers: number[] = []
  await until(async () => {
    for (const key of nodes.keys) answers.push((await b.send('PUT', 'sys/unseal', { body: { key } })).status)
    return (await b.health()) === 473
  })
  expect(new Set(answers)).toEqual(new Set([200]))
  expect(etcdsOf(b).length).toBe(1)
  await until(async () => (await serversOf(nodes)).B?.[1] === true)
})

test('a server that cannot store its membership gets no vote', async () => {
  const { nodes, a, b } = await pair()
  await openFirst(nodes)
  mkdirSync(path.join(b.directory, 'data', 'peers.json', 'taken'), { recursive: true })
  await join(b, a)
  const answers = await unsealed(nodes, b)
  expect(JSON.stringify(answers)).toContain('cannot store the data of the join response')
  expect(etcdsOf(b)).toEqual([])
  expect(await serversOf(nodes)).toEqual({ A: [true, true], B: [false, false] })
  await b.crash()
  await nodes.clientOf(a).call('PUT', 'kv/it', { body: { value: 'alone' } })
})

test('a leader that is stopped during the migration to several nodes keeps its data', async () => {
  const { nodes, a, b } = await pair()
  await openFirst(nodes)
  await nodes.clientOf(a).call('PUT', 'kv/it', { body: { value: 'kept' } })
  await join(b, a)
  const joining = unsealed(nodes, b)
  await until(() => etcdsOf(a).length > 0)
  await a.stop()
  expect(etcdsOf(a)).toEqual([])
  await b.crash()
  await joining
  await a.start()
  await nodes.unseal(a)
  expect((await nodes.clientOf(a).send('GET', 'kv/it')).json?.data).toEqual({ value: 'kept' })
})

test('a leader stops during the migration to several nodes even if its etcd does not respond', async () => {
  const directory = mkdtempSync(path.join(tmpdir(), 'understudy-mute-etcd-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const program = path.join(directory, 'etcd')
  writeFileSync(program, `#!/bin/sh\ntouch ${program}.started\nexec sleep 600\n`, { mode: 0o755 })
  const { nodes, a, b } = await pair(() => ({ etcd_path: program }))
  await openFirst(nodes)
  await join(b, a)
  const joining = unsealed(nodes, b)
  await until(() => existsSync(`${program}.started`))
  await a.stop()
  expect(a.lastLogLines).not.toContain('did not respond in time')
  await b.crash()
  await joining
  await a.start()
  await nodes.unseal(a)
})

test('an admitted server that never starts does not prevent other servers from joining', async () => {
  const nodes = await launch(['A', 'B', 'C'])
  const [a, b, c] = nodes.all as [NodeProcess, NodeProcess, NodeProcess]
  await openFirst(nodes)
  mkdirSync(path.join(b.directory, 'data', 'peers.json', 'taken'), { recursive: true })
  await join(b, a)
  await unsealed(nodes, b)
  await join(c, a)
  await nodes.unseal(c)
  expect(Object.keys(await serversOf(nodes))).toEqual(['A', 'C'])
})

test('requests without key shares do not prevent a server from joining', async () => {
  const { nodes, a, b } = await pair()
  await openFirst(nodes)
  await join(b, a)
  const ask = (what: string, body: object) => a.send('PUT', `sys/storage/raft/bootstrap/${what}`, { body })
  let isOver = false
  const noise = (async () => {
    for (let at = 0; !isOver; at++) {
      const wrong = { server_id: 'B', answer: 'no', cluster_addr: '127.0.0.1:1', peer_addr: '127.0.0.1:2' }
      for (const id of ['B', `other-${at}`]) await ask('challenge', { server_id: id }).catch(() => undefined)
      await ask('answer', wrong).catch(() => undefined)
    }
  })()
  await nodes.unseal(b)
  isOver = true
  await noise
  expect(Object.keys(await serversOf(nodes))).toEqual(['A', 'B'])
})

test('join reports an address that is no leader, and another leader can be named later', async () => {
  const { nodes, a, b } = await pair()
  await openFirst(nodes)
  const answers = ['<html>', '{"data":{"challenge":"AAAA","seal_config":{"type":"shamir"}}}']
  for (const text of answers) {
    const refused = await tryJoin(b, await serve(async () => ({ status: 200, text })))
    expect(refused.status).toBe(500)
    expect(refused.json?.errors).toEqual([expect.stringContaining('is not a join challenge')])
  }
  const other = { type: 'shamir', secret_shares: 1, secret_threshold: 1 }
  const text = JSON.stringify({ data: { challenge: 'AAAA', seal_config: other } })
  expect((await tryJoin(b, await serve(async () => ({ status: 200, text })))).status).toBe(200)
  expect(await b.anonymous.read('sys/seal-status')).toMatchObject({ sealed: true, n: 1 })
  await join(b, a)
  expect(await b.anonymous.read('sys/seal-status')).toMatchObject({ sealed: true, n: 3 })
  await nodes.unseal(b)
})

test('a man in the middle of a join cannot add another address to the cluster', async () => {
  const { nodes, a, b } = await pair()
  await openFirst(nodes)
  const tried = { count: 0 }
  const between = await serve(async (url, text) => {
    const body = JSON.parse(text) as Record<string, string>
    if (body.peer_addr !== undefined && tried.count++ < 3) body.cluster_addr = 'other.example:1'
    const answer = await fetch(`${a.address}${url}`, { method: 'PUT', body: JSON.stringify(body) })
    return { status: answer.status, text: await answer.text() }
  })
  await tryJoin(b, between)
  await nodes.unseal(b)
  expect(tried.count).toBeGreaterThan(3)
  const configuration = await nodes.clientOf(a).read('sys/storage/raft/configuration')
  expect(JSON.stringify(configuration)).not.toContain('other.example')
})

test.each(['A', 'B'])('join fails at once if the etcd program is missing on %s', async (name) => {
  const missing = (node: string) => (node === name ? { etcd_path: '/nowhere/etcd' } : {})
  const { nodes, a, b } = await pair(missing)
  await openFirst(nodes)
  const refused = await tryJoin(b, a.address)
  expect(refused.status).toBe(500)
  expect(refused.json?.errors).toEqual([expect.stringContaining('/nowhere/etcd')])
})

test('an auto-unsealed server joins once despite repeated join requests, and rejects an initialization meanwhile', async () => {
  const seal = { static: { current_key_id: '1', current_key: randomBytes(32).toString('base64') } }
  const { nodes, a, b } = await pair(() => ({ seal }))
  const init = (node: NodeProcess) =>
    node.send('PUT', 'sys/init', { body: { recovery_shares: 1, recovery_threshold: 1 } })
  nodes.rootToken = String((await init(a)).json?.root_token)
  await until(async () => (await a.health()) === 200)
  const joins = [tryJoin(b, a.address), tryJoin(b, a.address)]
  await until(async () => (await b.health()) !== 501)
  expect((await init(b)).json?.errors).toEqual(['Vault is already initialized'])
  expect((await Promise.all(joins)).map(({ status }) => status)).toEqual([200, 200])
  await until(async () => (await b.health()) === 473)
  expect(etcdsOf(b).length).toBe(1)
})

test('a node that waits for its peers at startup can be stopped', async () => {
  const { nodes, a, b } = await pair()
  await openFirst(nodes)
  await join(b, a)
  await nodes.unseal(b)
  await until(async () => (await serversOf(nodes)).B?.[1] === true)
  await Promise.all([a.crash(), b.crash()])
  await a.start()
  expect(await a.health()).toBe(503)
  await a.stop()
  await until(() => etcdsOf(a).length === 0)
})
