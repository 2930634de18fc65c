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

export const raftPaths = (deps: RaftPathsDeps): PathSpec[] => [
  status('storage/raft/configuration', 'The servers of this cluster.', deps, configurationBody),
  status('storage/raft/autopilot/state', 'The health of the servers of this cluster.', deps, stateBody),
  status('storage/raft/autopilot/configuration', 'The settings of autopilot.', deps, () => AUTOPILOT),
  ...raftBootstrapPaths(() => {
    requireRaft(deps)
    return deps.nodes
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
    if (deps.isDrSecondary()) {
      const token = values.dr_operation_token
      if (token === '' || !deps.isOperationTokenAllowed(token, request)) throw invalid(DR_REFUSAL)
    } else if (request.operation !== 'read') {
      throw new LogicalError('unsupported-operation', 'unsupported operation', { wrapped: true })
    }
    requireRaft(deps)
    return { data: await body(deps) }
  }
  return definePath({ pattern, fields: TOKEN_FIELDS, summary, operations: { read: answer, update: answer } })
}

const requireRaft = ({ label }: RaftPathsDeps): void => {
  if (label !== 'raft') throw notRaft(label)
}

/** This server leads, since it answers. */
const serversOf = async ({ nodes, nodeId, clusterAddress }: RaftPathsDeps): Promise<readonly RaftServer[]> =>
  nodes ? nodes.servers() : [{ nodeId, clusterAddress, isVoter: true }]

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

const stateBody = ({ nodeId, clusterAddress, index }: RaftPathsDeps): JsonObject => ({
  healthy: true,
  failure_tolerance: 0,
  optimistic_failure_tolerance: 0,
  leader: nodeId,
  voters: [nodeId],
  servers: {
    [nodeId]: {
      id: nodeId,
      name: nodeId,
      address: clusterAddress,
      node_status: 'alive',
      node_type: 'voter',
      status: 'leader',
      healthy: true,
      last_contact: '0s',
      last_term: 1,
      last_index: index(),
    },
  },
})

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
