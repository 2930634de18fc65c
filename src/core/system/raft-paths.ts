/**
 * sys/storage/raft: the nodes of a cluster whose storage is labelled `raft`, and how one comes to be one of them; snapshots are
 * of the cluster as a whole.
 */
import { definePath, type Handler, type PathSpec } from '../../logical/backend.js'
import { invalid, LogicalError } from '../../logical/errors.js'
import { string } from '../../logical/fields.js'
import type { JsonObject } from '../../logical/json.js'
import type { Request, Response } from '../../logical/request.js'
import { DR_REFUSAL } from '../../logical/refusal-texts.js'
import { notRaft, raftBootstrapPaths, type RaftNodes, type RaftServer } from './raft-join-paths.js'

interface RaftPathsDeps {
  /** The label of the storage stanza. */
  readonly label: string
  readonly nodeId: string
  /** `host:port`. */
  readonly clusterAddress: string
  /** Last index of the log. */
  readonly index: () => number
  readonly isDrSecondary: () => boolean
  /** The nodes of the cluster; undefined where no other can join. */
  readonly nodes: RaftNodes | undefined
  /** Whether an operation token authorises this request. */
  readonly isOperationTokenAllowed: (token: string, request: Request) => boolean
  readonly snapshot: () => AsyncIterable<Buffer>
  /** LogicalError 400 for a file that cannot be used. Resolves when the decision is durable. */
  readonly restore: (file: Buffer, options: { readonly isForced: boolean }) => Promise<void>
}

const TOKEN_FIELDS = {
  dr_operation_token: string('Operation token, on a DR secondary.', '', { isSecret: true }),
} as const

const REMOVE_FIELDS = { ...TOKEN_FIELDS, server_id: string('Id of the server.') } as const

export const raftPaths = (deps: RaftPathsDeps): PathSpec[] => [
  status('storage/raft/configuration', 'The servers of this cluster.', deps, configurationBody),
  status('storage/raft/autopilot/state', 'The health of the servers of this cluster.', deps, stateBody),
  status('storage/raft/autopilot/configuration', 'The settings of autopilot.', deps, () => AUTOPILOT),
  ...raftBootstrapPaths(() => {
    requireRaft(deps)
    return deps.nodes
  }),
  definePath({
    pattern: 'storage/raft/remove-peer',
    fields: REMOVE_FIELDS,
    summary: 'Take a server out of this cluster for good.',
    operations: {
      update: async ({ request, values }) => {
        requireAllowed(deps, request, values.dr_operation_token)
        requireRaft(deps)
        if (values.server_id === '') throw invalid('no server id provided')
        await deps.nodes?.remove(values.server_id)
        return undefined
      },
    },
  }),
  definePath({
    pattern: 'storage/raft/snapshot',
    fields: {},
    summary: 'Save this cluster to a file, or restore it from one.',
    operations: { read: () => save(deps), update: ({ request }) => restore(deps, request, false) },
  }),
  definePath({
    pattern: 'storage/raft/snapshot-force',
    fields: {},
    summary: 'Restore this cluster from a file of another one, with its keys.',
    operations: { update: ({ request }) => restore(deps, request, true) },
  }),
]

/** A status read; with an operation token in the query or, as an update, in the body, also on a DR secondary. */
const status = (
  pattern: string,
  summary: string,
  deps: RaftPathsDeps,
  body: (deps: RaftPathsDeps) => JsonObject | Promise<JsonObject>,
): PathSpec => {
  const answer: Handler<typeof TOKEN_FIELDS> = async ({ request, values }) => {
    requireAllowed(deps, request, values.dr_operation_token)
    if (!deps.isDrSecondary() && request.operation !== 'read') {
      throw new LogicalError('unsupported-operation', 'unsupported operation', { wrapped: true })
    }
    requireRaft(deps)
    return { data: await body(deps) }
  }
  return definePath({ pattern, fields: TOKEN_FIELDS, summary, operations: { read: answer, update: answer } })
}

/** A DR secondary has no tokens: there an operation token is looked at. */
const requireAllowed = (deps: RaftPathsDeps, request: Request, token: string): void => {
  if (!deps.isDrSecondary()) return
  if (token === '' || !deps.isOperationTokenAllowed(token, request)) throw invalid(DR_REFUSAL)
}

const requireRaft = ({ label }: RaftPathsDeps): void => {
  if (label !== 'raft') throw notRaft(label)
}

/** This server leads, since it answers. */
const serversOf = async ({ nodes, nodeId, clusterAddress, index }: RaftPathsDeps): Promise<readonly RaftServer[]> => {
  if (nodes) return nodes.servers()
  const alone = { isVoter: true, isHealthy: true, lastContactMs: 0, lastIndex: index(), term: 1, version: '' }
  return [{ nodeId, clusterAddress, ...alone }]
}

const configurationBody = async (deps: RaftPathsDeps): Promise<JsonObject> => ({
  config: {
    index: deps.index(),
    servers: (await serversOf(deps)).map(({ nodeId, clusterAddress, isVoter }) => ({
      node_id: nodeId,
      address: clusterAddress,
      leader: nodeId === deps.nodeId,
      voter: isVoter,
      protocol_version: '3',
    })),
  },
})

const stateBody = async (deps: RaftPathsDeps): Promise<JsonObject> => {
  const servers = await serversOf(deps)
  const voters = servers.filter(({ isVoter }) => isVoter)
  const healthy = voters.filter(({ isHealthy }) => isHealthy)
  const tolerance = Math.max(0, healthy.length - (Math.floor(voters.length / 2) + 1))
  return {
    healthy: servers.every(({ isHealthy }) => isHealthy),
    failure_tolerance: tolerance,
    optimistic_failure_tolerance: tolerance,
    leader: deps.nodeId,
    voters: voters.map(({ nodeId }) => nodeId),
    servers: Object.fromEntries(servers.map((server) => [server.nodeId, serverBody(server, deps)])),
  }
}

const serverBody = (server: RaftServer, deps: RaftPathsDeps): JsonObject => {
  const { nodeId, isVoter, isHealthy } = server
  const type = isVoter ? 'voter' : 'non-voter'
  return {
    id: nodeId,
    name: nodeId,
    address: server.clusterAddress,
    node_status: isHealthy ? 'alive' : 'failed',
    node_type: type,
    status: nodeId === deps.nodeId ? 'leader' : type,
    healthy: isHealthy,
    last_contact: nodeId === deps.nodeId ? '0s' : formatGoDuration(server.lastContactMs),
    last_term: server.term,
    last_index: server.lastIndex,
    ...(server.version !== '' && { version: server.version }),
  }
}

/** Milliseconds are enough of it. */
const formatGoDuration = (ms: number): string => (ms < 1000 ? `${ms}ms` : `${ms / 1000}s`)

const AUTOPILOT: JsonObject = {
  cleanup_dead_servers: false,
  dead_server_last_contact_threshold: '24h0m0s',
  last_contact_threshold: '10s',
  max_trailing_logs: 1000,
  min_quorum: 0,
  server_stabilization_time: '10s',
  disable_upgrade_migration: false,
}

const save = (deps: RaftPathsDeps): Response => {
  requireRaft(deps)
  return {
    raw: { contentType: 'application/gzip', body: deps.snapshot() },
    headers: { 'Content-Disposition': 'attachment; filename="snapshot.snap"' },
  }
}

const restore = async (deps: RaftPathsDeps, request: Request, isForced: boolean): Promise<undefined> => {
  requireRaft(deps)
  const file = await request.readFile?.()
  if (!file || file.length === 0) throw invalid('the body must be a snapshot')
  await deps.restore(file, { isForced })
}
