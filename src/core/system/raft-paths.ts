/**
 * sys/storage/raft: what tools ask of the storage label `raft`. There is one node, which leads; snapshots are of this
 * cluster as a whole.
 */
import { definePath, type Handler, type PathSpec } from '../../logical/backend.js'
import { invalid, LogicalError } from '../../logical/errors.js'
import { bool, commaList, type FieldTable, int, string } from '../../logical/fields.js'
import type { JsonObject } from '../../logical/json.js'
import type { Request, Response } from '../../logical/request.js'
import { DR_REFUSAL } from '../../logical/refusal-texts.js'

interface RaftPathsDeps {
  /** The label of the storage stanza. */
  readonly label: string
  readonly nodeId: string
  /** `host:port`. */
  readonly clusterAddress: string
  /** Last index of the log. */
  readonly index: () => number
  readonly isDrSecondary: () => boolean
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

/** Exists in every state, since it is called before a node has a cluster. */
export const raftJoinPath = (): PathSpec =>
  definePath({
    pattern: 'storage/raft/join',
    fields: JOIN_FIELDS,
    summary: 'Join a cluster as another node.',
    operations: {
      update: () => {
        throw invalid('several nodes per cluster are not supported yet')
      },
    },
  })

const JOIN_FIELDS = {
  leader_api_addr: string('Address of the node that leads.'),
  leader_ca_cert: string('CA certificate of the leader.'),
  leader_client_cert: string('Client certificate.'),
  leader_client_key: string('Client key.', '', { isSecret: true }),
  leader_tls_servername: string('Name the certificate of the leader must have.'),
  auto_join: string('How nodes are discovered.'),
  auto_join_scheme: string('Scheme of discovered addresses.'),
  auto_join_port: int('Port of discovered addresses.'),
  retry: bool('Go on trying.'),
  non_voter: bool('Join without a vote.'),
  tags: commaList('Ignored.'),
} satisfies FieldTable

/** A status read; with an operation token in the query or, as an update, in the body, also on a DR secondary. */
const status = (
  pattern: string,
  summary: string,
  deps: RaftPathsDeps,
  body: (deps: RaftPathsDeps) => JsonObject,
): PathSpec => {
  const answer: Handler<typeof TOKEN_FIELDS> = ({ request, values }) => {
    if (deps.isDrSecondary()) {
      const token = values.dr_operation_token
      if (token === '' || !deps.isOperationTokenAllowed(token, request)) throw invalid(DR_REFUSAL)
    } else if (request.operation !== 'read') {
      throw new LogicalError('unsupported-operation', 'unsupported operation', { wrapped: true })
    }
    requireRaft(deps)
    return { data: body(deps) }
  }
  return definePath({ pattern, fields: TOKEN_FIELDS, summary, operations: { read: answer, update: answer } })
}

const requireRaft = ({ label }: RaftPathsDeps): void => {
  if (label !== 'raft') throw invalid(`raft storage is not in use: the storage of this server is "${label}"`)
}

const configurationBody = ({ nodeId, clusterAddress, index }: RaftPathsDeps): JsonObject => ({
  config: {
    index: index(),
    servers: [{ node_id: nodeId, address: clusterAddress, leader: true, voter: true, protocol_version: '3' }],
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
