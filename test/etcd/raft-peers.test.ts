import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import https from 'node:https'
import { expect, onTestFinished, test } from 'vitest'
import { systemNetwork } from '../../src/base/network.js'
import { findCommonName } from '../../src/crypto/certificates.js'
import { refusalCodeOf } from '../../src/replication/rpc/refusal.js'
import {
  etcdsOf,
  join,
  launchRaft,
  type NodeProcess,
  openFirst,
  openRaft,
  serversOf,
  untilAllVote,
} from '../support/node-processes.js'
import { joinNodes } from '../support/node-replication.js'
import { expectAll, expectFailoverDuring, expectKillsSurvived, Writers } from '../support/node-writers.js'
import { TestNodes } from '../support/nodes.js'
import { TIMES, transportOver } from '../support/replication-fixture.js'
import { findInBytes, storedWindows } from '../support/stored-bytes.js'
import { until } from '../support/until.js'

/** Servers with storage "raft" in separate processes that become one cluster. */

const launch = (names: readonly string[], isJoining = false) => launchRaft(names, { isJoining })
test('servers join a standalone server with its key shares, and receive its data', async () => {
  const nodes = await launch(['A', 'B', 'C'])
  const [a, b, c] = nodes.all as [NodeProcess, NodeProcess, NodeProcess]
  await openFirst(nodes)
  await nodes.clientOf(a).call('PUT', 'kv/before', { body: { value: 'alone' } })
  expect(await b.health()).toBe(501)
  expect(await join(b, a)).toEqual({ joined: true })
  expect(await b.health()).toBe(503)
  expect(await b.anonymous.read('sys/seal-status')).toMatchObject({ initialized: true, sealed: true, t: 2, n: 3 })
  expect(await join(b, a)).toEqual({ joined: true })
  await nodes.unseal(b)
  await join(c, b)
  await nodes.unseal(c)
  expect([await a.health(), await b.health(), await c.health()]).toEqual([200, 473, 473])
  await nodes.level()
  for (const node of nodes.all) {
    expect((await nodes.clientOf(node).send('GET', 'kv/before')).json?.data).toEqual({ value: 'alone' })
  }
  expect(await serversOf(nodes)).toEqual({ A: [true, true], B: [false, true], C: [false, true] })
})

test('nodes with storage "raft" lose no acknowledged write when active nodes are killed under load', async () => {
  const { nodes } = await openRaft()
  await expectKillsSurvived(nodes)
})

test('a server with wrong key shares cannot join, and the cluster stays unchanged', async () => {
  const nodes = await launch(['A', 'B'])
  const [a, b] = nodes.all as [NodeProcess, NodeProcess]
  await openFirst(nodes)
  await join(b, a)
  const refused = await (async () => {
    for (const key of ['11'.repeat(33), '22'.repeat(33)]) {
      const answer = await b.send('PUT', 'sys/unseal', { body: { key } })
      if (answer.status !== 200) return answer
    }
    return undefined
  })()
  expect(refused?.status).toBe(400)
  expect(await serversOf(nodes)).toEqual({ A: [true, true] })
  const wrong = { server_id: 'B', answer: 'no', cluster_addr: '127.0.0.1:1', peer_addr: '127.0.0.1:2' }
  await a.send('PUT', 'sys/storage/raft/bootstrap/challenge', { body: { server_id: 'B' } })
  expect((await a.send('PUT', 'sys/storage/raft/bootstrap/answer', { body: wrong })).status).toBe(403)
  await nodes.unseal(b)
  await until(async () => Object.keys(await serversOf(nodes)).length === 2)
})

test('servers with retry_join join by themselves', async () => {
  const nodes = await launch(['A', 'B'], true)
  const a = await openFirst(nodes)
  for (const node of nodes.without(a)) await nodes.unseal(node)
  expect(await serversOf(nodes)).toEqual({ A: [true, true], B: [false, true] })
})

test('the etcd of each node contains no earlier data after its cluster became a secondary', async () => {
  const { nodes, first } = await openRaft(['S', 'T', 'U'])
  await nodes.clientOf(first).call('PUT', 'kv/it', { body: { value: 'x'.repeat(200) } })
  const [s, t, u] = nodes.all as [NodeProcess, NodeProcess, NodeProcess]
  await u.stop()
  const needles = await storedWindows(u.copyDirectory)
  const dbOf = ({ directory }: NodeProcess) => path.join(directory, 'data', 'etcd', 'data', 'member', 'snap', 'db')
  const heldBy = (node: NodeProcess) => findInBytes(readFileSync(dbOf(node)), needles)
  for (const node of nodes.all) await until(() => heldBy(node).length > 0)
  // The third node is stopped during the change.
  const primary = await launch(['P'])
  await openFirst(primary)
  const running = new TestNodes([s, t])
  Object.assign(running, { keys: nodes.keys, rootToken: nodes.rootToken })
  await joinNodes(primary, running, 'dr')
  expect([heldBy(s), heldBy(t)]).toEqual([[], []])
  await u.start()
  nodes.keys = primary.keys
  await nodes.unseal(u)
  expect(heldBy(u)).toEqual([])
})

const signalEtcd = (node: NodeProcess, name: NodeJS.Signals): void => {
  const [pid] = etcdsOf(node)
  if (pid === undefined) throw new Error(`no etcd of ${node.name}`)
  process.kill(pid, name)
}

test('another node takes over when the etcd of the active node hangs, and no acknowledged write is lost', async () => {
  const { nodes } = await openRaft()
  await until(async () => Object.values(await serversOf(nodes)).every(([, isVoter]) => isVoter))
  const writers = new Writers(nodes)
  for (let turn = 0; turn < 2; turn++) {
    await writers.more()
    await expectFailoverDuring(nodes, {
      block: (active) => signalEtcd(active, 'SIGSTOP'),
      unblock: (active) => signalEtcd(active, 'SIGCONT'),
    })
  }
  await writers.more()
  await writers.stop()
  await expectAll(nodes.clientOf(await nodes.active()), writers)
})

const socketDirectoriesOf = (nodes: readonly NodeProcess[]): readonly string[] =>
  readdirSync(tmpdir())
    .filter((name) => nodes.some(({ pid }) => name.startsWith(`understudy-etcd-${pid}-`)))
    .map((name) => path.join(tmpdir(), name))

test('a node restarts its etcd after a crash, and the etcd ends with the node, even if that is killed', async () => {
  const { nodes, first } = await openRaft(['A', 'B'])
  const [b] = nodes.without(first) as [NodeProcess]
  expect([etcdsOf(first).length, etcdsOf(b).length]).toEqual([1, 1])
  const client = nodes.clientOf(first)
  for (const pid of etcdsOf(first)) process.kill(pid, 'SIGKILL')
  await until(async () => (await client.send('PUT', 'kv/it', { body: { value: 'again' } })).status === 204)
  expect(etcdsOf(first).length).toBe(1)
  const directories = socketDirectoriesOf([first, b])
  expect(directories).toHaveLength(2)
  await b.crash()
  await until(() => etcdsOf(b).length === 0)
  await first.stop()
  expect(etcdsOf(first)).toEqual([])
  // The directories of the sockets are removed as well.
  await until(() => !directories.some((directory) => existsSync(directory)))
})

test('a removed node serves no requests, and joins again with an empty directory', async () => {
  const { nodes, first } = await openRaft()
  const [b, c] = nodes.without(first) as [NodeProcess, NodeProcess]
  const client = nodes.clientOf(first)
  const remove = (server_id: string) => client.send('POST', 'sys/storage/raft/remove-peer', { body: { server_id } })
  expect((await remove('nobody')).status).toBe(204)
  expect((await remove('')).json).toEqual({ errors: ['no server id provided'] })
  await until(async () => (await remove('C')).status === 204)
  await until(async () => (await c.health()) === 530)
  expect(await c.anonymous.read('sys/seal-status')).toMatchObject({ removed_from_cluster: true, sealed: true })
  expect((await c.anonymous.read('/_understudy/v1/info')).node).toMatchObject({ state: 'removed', is_active: false })
  expect((await nodes.clientOf(c).send('GET', 'kv/it')).status).toBe(503)
  expect(Object.keys(await serversOf(nodes))).toEqual(['A', 'B'])
  await client.call('PUT', 'kv/it', { body: { value: 'without it' } })
  await c.crash()
  await c.start()
  expect(await c.health()).toBe(530)
  await c.crash()
  rmSync(path.join(c.directory, 'data'), { recursive: true })
  await c.start()
  await join(c, b)
  await nodes.unseal(c)
  expect((await nodes.clientOf(c).send('GET', 'kv/it')).json?.data).toEqual({ value: 'without it' })
  await until(async () => (await serversOf(nodes)).C?.[1] === true)
  const state = (await client.read('sys/storage/raft/autopilot/state')).data
  expect(state).toMatchObject({ healthy: true, failure_tolerance: 1, leader: 'A', voters: ['A', 'B', 'C'] })
})

/** Returns the CA, certificate and key by which the etcd member of a node connects to other members. */
const memberFiles = ({ directory }: NodeProcess) => {
  const read = (file: string) => readFileSync(path.join(directory, 'data', 'etcd', file), 'utf8')
  return { ca: read('ca.pem'), cert: read('certificate.pem'), key: read('key.pem') }
}

type MemberFiles = ReturnType<typeof memberFiles>

/** Resolves to true if the etcd peer port of a node responds to a request with this certificate. */
const isAnswered = (node: NodeProcess, files: MemberFiles): Promise<boolean> =>
  new Promise((resolve) => {
    const { member } = JSON.parse(readFileSync(path.join(node.directory, 'data', 'peers.json'), 'utf8'))
    const url = `https://${member.peerAddress}/members`
    const request = https.get(url, { ...files, agent: false }, (answer) => {
      answer.resume()
      resolve(answer.statusCode === 200)
    })
    request.on('error', () => resolve(false))
  })

/** Resolves to the refusal code of the cluster port of a node for a call with this certificate, or to `answered`. */
const refusalAt = async (node: NodeProcess, { ca: caCertificate, cert: certificate, key: privateKey }: MemberFiles) => {
  const credentials = { serverName: findCommonName(caCertificate) ?? '', caCertificate, certificate, privateKey }
  const connect = { credentials, times: TIMES, signal: new AbortController().signal }
  try {
    const connection = await transportOver(systemNetwork).connect(node.clusterAddress, connect)
    onTestFinished(async () => connection.close())
    await connection.call('forward', { who: null, payload: Buffer.alloc(0) }, {})
  } catch (error) {
    return refusalCodeOf(error) ?? error
  }
  return 'answered'
}

test('the certificate of a removed node is rejected by etcd peer ports and cluster ports', async () => {
  const { nodes, first } = await openRaft()
  await untilAllVote(nodes)
  const [b, c] = nodes.without(first) as [NodeProcess, NodeProcess]
  const [removed, member] = [memberFiles(c), memberFiles(b)]
  for (const node of [first, b]) {
    expect([await isAnswered(node, removed), await isAnswered(node, member)]).toEqual([true, true])
  }
  expect(await refusalAt(first, removed)).toBe('forbidden')
  // A stopped node does not learn of its removal.
  await c.crash()
  const client = nodes.clientOf(first)
  await client.call('POST', 'sys/storage/raft/remove-peer', { body: { server_id: 'C' } })
  expect(await isAnswered(first, removed)).toBe(false)
  await until(async () => !(await isAnswered(b, removed)))
  expect([await isAnswered(first, member), await isAnswered(b, memberFiles(first))]).toEqual([true, true])
  expect(await refusalAt(first, removed)).toBe('revoked')
  expect(await refusalAt(first, member)).toBe('forbidden')
  // A sealed node keeps the list of removed members, and a restarted node receives it.
  await b.crash()
  await b.start()
  await until(async () => isAnswered(b, member))
  expect(await isAnswered(b, removed)).toBe(false)
  await nodes.unseal(b)
  await c.start()
  await until(async () => (await c.health()) === 530)
  expect(etcdsOf(c)).toEqual([])
  await c.crash()
  rmSync(path.join(c.directory, 'data'), { recursive: true })
  await c.start()
  await join(c, b)
  await nodes.unseal(c)
  await untilAllVote(nodes)
  for (const node of nodes.all) {
    expect([await isAnswered(node, removed), await isAnswered(node, memberFiles(c))]).toEqual([false, true])
  }
  await nodes.level()
})

test('the certificate of a removed active node is rejected by the etcd peer ports of all other nodes', async () => {
  const { nodes, first } = await openRaft()
  await untilAllVote(nodes)
  const client = nodes.clientOf(first)
  await until(async () => Object(await client.read('sys/storage/raft/autopilot/state')).data.healthy === true)
  const removed = memberFiles(first)
  await client.call('POST', 'sys/storage/raft/remove-peer', { body: { server_id: first.name } })
  await until(async () => (await first.health()) === 530)
  for (const node of nodes.without(first)) await until(async () => !(await isAnswered(node, removed)))
})

test('removal of the active node elects another one at once, regardless of the lease', async () => {
  const { nodes, first } = await openRaft(undefined, { leader_lease: '1h' })
  await untilAllVote(nodes)
  const client = nodes.clientOf(first)
  // The active node can be removed only while a quorum of other nodes is healthy.
  await until(async () => Object(await client.read('sys/storage/raft/autopilot/state')).data.healthy === true)
  const body = { server_id: first.name }
  expect((await client.send('POST', 'sys/storage/raft/remove-peer', { body })).status).toBe(204)
  const left = nodes.without(first)
  const next = await nodes.active(left)
  expect((await nodes.clientOf(next).send('PUT', 'kv/it', { body: { value: 'without it' } })).status).toBe(204)
  await until(async () => (await first.health()) === 530)
  await first.stop()
  expect(Object.keys(await serversOf(nodes)).sort()).toEqual(left.map(({ name }) => name))
})

test('a primary stays a primary on every node that joins it', async () => {
  const nodes = await launch(['A', 'B', 'C'])
  const a = await openFirst(nodes)
  await nodes.clientOf(a).call('POST', 'sys/replication/performance/primary/enable')
  await until(async () => (await a.health()) === 200)
  for (const node of nodes.without(a)) {
    await join(node, a)
    await nodes.unseal(node)
  }
  await untilAllVote(nodes)
  await a.crash()
  const next = nodes.clientOf(await nodes.active())
  await next.call('PUT', 'kv/it', { body: { value: 'by the next' } })
  const { data } = (await next.read('sys/replication/performance/status')) as { data: { mode: string } }
  expect(data.mode).toBe('primary')
})
