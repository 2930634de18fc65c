import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import type { NodeProcess } from './node-processes.js'
import type { TestNodes } from './nodes.js'

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
