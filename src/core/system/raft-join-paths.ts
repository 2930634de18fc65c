/** How a server with the storage label `raft` comes to be a node of a cluster: what it is told to do, and what it asks there. */
import { definePath, type PathSpec } from '../../logical/backend.js'
import { invalid, type LogicalError } from '../../logical/errors.js'
import { bool, commaList, type FieldTable, int, string, type Values } from '../../logical/fields.js'
import type { Response } from '../../logical/request.js'
import type { SealConfig } from '../../seal/config.js'
import { bare } from './bare.js'

/** A node of the cluster. Addresses are `host:port`. */
export interface RaftServer {
  readonly nodeId: string
  readonly clusterAddress: string
  readonly isVoter: boolean
  /** It was heard of not long ago. */
  readonly isHealthy: boolean
  readonly lastContactMs: number
  /** Since when it is healthy without a break, as far as this leader knows; undefined while it is not. */
  readonly stableSinceMs: number | undefined
  /** How much of the log it has applied. */
  readonly lastIndex: number
  readonly term: number
  /** Empty where it is not known. */
  readonly version: string
}

/** A server that asks to be let in. */
interface RaftCandidate {
  readonly nodeId: string
  readonly peerAddress: string
  readonly clusterAddress: string
}

/** What the active node knows of the others, and does with those that are to come. */
export interface RaftNodes {
  servers(): Promise<readonly RaftServer[]>
  /** Takes a node out for good; one that is none is left as it is. LogicalError 400 for the only one, 503 where that cannot be now. */
  remove(nodeId: string): Promise<void>
  /** What only a server with the shares, or the seal, can answer. */
  challenge(serverId: string): Promise<RaftChallenge>
  /** What the server needs to be a node. LogicalError 403 for a wrong answer, 503 while it is to be given again. */
  answer(server: RaftCandidate, answer: string): Promise<string>
}

interface RaftChallenge {
  readonly challenge: Buffer
  readonly type: string
  readonly config: SealConfig
}

/** The node to be asked. Texts are empty where nothing was given. */
interface RaftLeader {
  readonly address: string
  readonly caPem: string
  readonly clientCertPem: string
  readonly clientKeyPem: string
  readonly serverName: string
}

/** How a server comes to be a node of another cluster. */
export interface RaftJoining {
  /** False when it goes on trying in the background. LogicalError 500 with the cause. */
  join(leader: RaftLeader, options: { readonly isRetried: boolean }): Promise<boolean>
}

/** Exists in every state, since it is called before a node has a cluster. */
export const raftJoinPath = (label: string, joining: RaftJoining | undefined): PathSpec =>
  definePath({
    pattern: 'storage/raft/join',
    fields: JOIN_FIELDS,
    summary: 'Join a cluster as another node.',
    operations: {
      update: async ({ values }) => {
        if (label !== 'raft') throw notRaft(label)
        if (!joining) throw invalid('nodes that are to join need a storage with a path')
        if (values.auto_join !== '') throw invalid('auto_join is not supported; give leader_api_addr')
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

/** Of the active node. `findNodes` throws where the storage is another one; undefined where no other node can be. */
export const raftBootstrapPaths = (findNodes: () => RaftNodes | undefined): PathSpec[] => {
  const requireNodes = (): RaftNodes => {
    const nodes = findNodes()
    if (!nodes) throw invalid('no server can join: the storage of this one has no path')
    return nodes
  }
  return [
    definePath({
      pattern: 'storage/raft/bootstrap/challenge',
      fields: CHALLENGE_FIELDS,
      summary: 'Begin to let a server in.',
      operations: { update: ({ values }) => challenge(requireNodes(), values.server_id) },
    }),
    definePath({
      pattern: 'storage/raft/bootstrap/answer',
      fields: ANSWER_FIELDS,
      summary: 'Let a server in that has the same shares, or the same seal.',
      operations: { update: ({ values }) => answer(requireNodes(), values) },
    }),
  ]
}

const CHALLENGE_FIELDS = { server_id: string('Id of the server that is to join.') } satisfies FieldTable

const ANSWER_FIELDS = {
  ...CHALLENGE_FIELDS,
  answer: string('What shows that it has the shares, or the seal.', '', { isSecret: true }),
  cluster_addr: string('Its cluster address.'),
  peer_addr: string('Where its storage is reached.'),
} satisfies FieldTable

const challenge = async (nodes: RaftNodes, serverId: string): Promise<Response> => {
  if (serverId === '') throw invalid('no server id provided')
  const { challenge, type, config } = await nodes.challenge(serverId)
  const seal_config = { type, secret_shares: config.shares, secret_threshold: config.threshold }
  return { data: { challenge: challenge.toString('base64'), seal_config } }
}

const answer = async (nodes: RaftNodes, values: Values<typeof ANSWER_FIELDS>): Promise<Response> => {
  const { server_id: nodeId, peer_addr: peerAddress, cluster_addr: clusterAddress } = values
  const missing = Object.entries({ nodeId, peerAddress, clusterAddress, answer: values.answer }).filter(
    ([, text]) => text === '',
  )
  if (missing.length > 0) throw invalid('server_id, answer, cluster_addr and peer_addr are required')
  const welcome = await nodes.answer({ nodeId, peerAddress, clusterAddress }, values.answer)
  return { data: { welcome } }
}

export const notRaft = (label: string): LogicalError =>
  invalid(`raft storage is not in use: the storage of this server is "${label}"`)
