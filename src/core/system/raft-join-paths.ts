/**
 * The paths with which a server with the storage label `raft` joins a cluster: the path that starts the join, and the
 * paths that the joining server then calls on the active node.
 */
import { definePath, type PathSpec } from '../../logical/backend.js'
import { invalid, type LogicalError } from '../../logical/errors.js'
import { bool, commaList, type FieldTable, int, string, type Values } from '../../logical/fields.js'
import type { Response } from '../../logical/request.js'
import type { SealConfig } from '../../seal/config.js'
import { bare } from './backend.js'

/** A node of the cluster. Addresses are `host:port`. */
export interface RaftServer {
  readonly nodeId: string
  readonly clusterAddress: string
  readonly isVoter: boolean
  /** True if the last heartbeat of the node is recent. */
  readonly isHealthy: boolean
  readonly lastContactMs: number
  /**
   * The start of the current uninterrupted healthy period, in milliseconds since the epoch, as recorded by the leader;
   * undefined while the node is unhealthy.
   */
  readonly stableSinceMs: number | undefined
  /** Last index of the log that the node has applied. */
  readonly lastIndex: number
  readonly term: number
  /** Empty if unknown. */
  readonly version: string
}

interface RaftCandidate {
  readonly nodeId: string
  readonly peerAddress: string
  readonly clusterAddress: string
}

/** The operations of the active node on the other nodes and on joining servers. */
export interface RaftNodes {
  servers(): Promise<readonly RaftServer[]>
  /**
   * Removes a node permanently. Does nothing for an unknown node. Rejects with LogicalError 400 for the only node, 503
   * if removal is not possible now.
   */
  remove(nodeId: string): Promise<void>
  /** Returns a challenge that only a server with the shares, or the seal, can answer. */
  challenge(serverId: string): Promise<RaftChallenge>
  /**
   * Checks the answer to a challenge, and returns the data that the server needs to join. Rejects with LogicalError 403
   * for a wrong answer, 503 if the server must retry.
   */
  answer(server: RaftCandidate, answer: string): Promise<string>
}

interface RaftChallenge {
  readonly challenge: Buffer
  readonly type: string
  readonly config: SealConfig
}

/** The node whose cluster this server joins. A text is empty if the request does not contain it. */
interface RaftLeader {
  readonly address: string
  readonly caPem: string
  readonly clientCertPem: string
  readonly clientKeyPem: string
  readonly serverName: string
}

/** Joins this server to a cluster. */
export interface RaftJoining {
  /**
   * Joins the leader's cluster. Returns false if the join failed and is retried in the background. Rejects with
   * LogicalError 500 with the cause.
   */
  join(leader: RaftLeader, options: { readonly isRetried: boolean }): Promise<boolean>
}

/** Creates the path that starts a join. The path is available before the node has a cluster. */
export const raftJoinPath = (label: string, joining: RaftJoining | undefined): PathSpec =>
  definePath('storage/raft/join', JOIN_FIELDS, 'Join a cluster as a node.', {
    update: async ({ values }) => {
      if (label !== 'raft') throw notRaft(label)
      if (!joining)
        throw invalid('this server cannot join a cluster: the storage stanza of its configuration has no path')
      if (values.auto_join !== '') throw invalid('auto_join is not supported; set leader_api_addr')
      if (values.non_voter) throw invalid('non_voter is not supported: every node has a vote')
      if (values.leader_api_addr === '') throw invalid('leader_api_addr is required')
      const leader = {
        address: values.leader_api_addr.replace(/\/+$/, ''),
        caPem: values.leader_ca_cert,
        clientCertPem: values.leader_client_cert,
        clientKeyPem: values.leader_client_key,
        serverName: values.leader_tls_servername,
      }
      return bare({ joined: await joining.join(leader, { isRetried: values.retry }) })
    },
  })

const JOIN_FIELDS = {
  leader_api_addr: string('API address of the leader.'),
  leader_ca_cert: string('CA certificate of the leader.'),
  leader_client_cert: string('Client certificate.'),
  leader_client_key: string('Client key.', '', { isSecret: true }),
  leader_tls_servername: string('Server name in the certificate of the leader.'),
  auto_join: string('Discovery of nodes; not supported.'),
  auto_join_scheme: string('Scheme of discovered addresses.'),
  auto_join_port: int('Port of discovered addresses.'),
  retry: bool('Retries until the join succeeds.'),
  non_voter: bool('Joins without a vote; not supported.'),
  tags: commaList('Ignored.'),
} satisfies FieldTable

/**
 * Creates the paths of the active node for joining servers. `findNodes` throws if the storage has another label, and
 * returns undefined if no other node can join.
 */
export const raftBootstrapPaths = (findNodes: () => RaftNodes | undefined): PathSpec[] => {
  const requireNodes = (): RaftNodes => {
    const nodes = findNodes()
    if (!nodes) throw invalid('no server can join this server: the storage stanza of its configuration has no path')
    return nodes
  }
  return [
    definePath('storage/raft/bootstrap/challenge', CHALLENGE_FIELDS, 'Start the join of a server.', {
      update: ({ values }) => challenge(requireNodes(), values.server_id),
    }),
    definePath('storage/raft/bootstrap/answer', ANSWER_FIELDS, 'Complete the join of a server.', {
      update: ({ values }) => answer(requireNodes(), values),
    }),
  ]
}

const CHALLENGE_FIELDS = { server_id: string('ID of the joining server.') } satisfies FieldTable

const ANSWER_FIELDS = {
  ...CHALLENGE_FIELDS,
  answer: string('Answer to the challenge: proves that the server has the shares or the seal.', '', { isSecret: true }),
  cluster_addr: string('Cluster address of the joining server.'),
  peer_addr: string('Address of the storage of the joining server.'),
} satisfies FieldTable

const challenge = async (nodes: RaftNodes, serverId: string): Promise<Response> => {
  if (serverId === '') throw invalid('no server id provided')
  const { challenge, type, config } = await nodes.challenge(serverId)
  const seal_config = { type, secret_shares: config.shares, secret_threshold: config.threshold }
  return { data: { challenge: challenge.toString('base64'), seal_config } }
}

const answer = async (nodes: RaftNodes, values: Values<typeof ANSWER_FIELDS>): Promise<Response> => {
  const { server_id: nodeId, peer_addr: peerAddress, cluster_addr: clusterAddress } = values
  if ([nodeId, peerAddress, clusterAddress, values.answer].includes(''))
    throw invalid('server_id, answer, cluster_addr and peer_addr are required')
  const welcome = await nodes.answer({ nodeId, peerAddress, clusterAddress }, values.answer)
  return { data: { welcome } }
}

export const notRaft = (label: string): LogicalError =>
  invalid(`raft storage is not in use: the storage of this server is "${label}"`)
