import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { type NodeProcess, raftProcesses } from './node-processes.js'
import type { TestNodes } from './nodes.js'
import { until } from './until.js'

type Ended = (() => Promise<void>)[]

/** Servers with storage "raft" that run, until what is in `ended` is called. */
export const launchRaft = async (
  ended: Ended,
  names: readonly string[],
  options: Parameters<typeof raftProcesses>[1] = {},
): Promise<TestNodes<NodeProcess>> => {
  const nodes = await raftProcesses(names, options)
  for (const node of nodes.all) ended.push(() => node.destroy())
  await Promise.all(nodes.all.map((node) => node.start()))
  return nodes
}

/** The same as one cluster, which the first of them was alone. */
export const openRaft = async (ended: Ended, names: readonly string[] = ['A', 'B', 'C'], settings: object = {}) => {
  const nodes = await launchRaft(ended, names, { settings })
  const first = await openFirst(nodes)
  for (const node of nodes.without(first)) {
    await join(node, first)
    await nodes.unseal(node)
  }
  return { nodes, first }
}

/** Resolves when each of them has a vote. */
export const untilAllVote = async (nodes: TestNodes<NodeProcess>): Promise<void> =>
  until(async () => Object.values(await serversOf(nodes)).filter(([, isVoter]) => isVoter).length === nodes.all.length)

/** The first node has a cluster, alone. */
export const openFirst = async (nodes: TestNodes<NodeProcess>): Promise<NodeProcess> => {
  const [first] = nodes.all
  if (!first) throw new Error('no nodes')
  const made = await first.anonymous.call('PUT', 'sys/init', { body: { secret_shares: 3, secret_threshold: 2 } })
  nodes.keys = made.keys as string[]
  nodes.rootToken = String(made.root_token)
  await nodes.unseal(first)
  await nodes.clientOf(first).call('POST', 'sys/mounts/kv', { body: { type: 'kv' } })
  return first
}

export const join = (node: NodeProcess, leader: NodeProcess) =>
  node.anonymous.call('PUT', 'sys/storage/raft/join', { body: { leader_api_addr: leader.address } })

/** Of each node of a cluster: whether it leads, and whether it has a vote. */
export const serversOf = async (nodes: TestNodes<NodeProcess>): Promise<Record<string, [boolean, boolean]>> => {
  const { data } = await nodes.clientOf(await nodes.active()).read('sys/storage/raft/configuration')
  const { servers } = (data as { config: { servers: { node_id: string; leader: boolean; voter: boolean }[] } }).config
  return Object.fromEntries(servers.map(({ node_id, leader, voter }) => [node_id, [leader, voter]]))
}

/** The processes of etcd on the data of a node. */
export const etcdsOf = ({ directory }: NodeProcess): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const [program = '', ...flags] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
        return path.basename(program) === 'etcd' && flags.some((flag) => flag.startsWith(directory))
      } catch {
        return false
      }
    })
