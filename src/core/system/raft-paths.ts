/**
 * sys/storage/raft: the nodes of a cluster with the storage label `raft`, joining, and snapshots of the whole cluster.
 */
import { definePath, type PathSpec } from '../../logical/backend.js'
import { invalid } from '../../logical/errors.js'
import { string } from '../../logical/fields.js'
import type { JsonObject } from '../../logical/json.js'
import type { Request, Response } from '../../logical/request.js'
import type { Storage } from '../../logical/storage.js'
import {
  autopilotPaths,
  type RaftAccess,
  requireAllowed,
  requireRaft,
  statusPath,
  TOKEN_FIELDS,
} from './autopilot-paths.js'
import { raftBootstrapPaths, type RaftNodes, type RaftServer } from './raft-join-paths.js'

interface RaftPathsDeps extends RaftAccess {
  readonly nodeId: string
  /** In the form `host:port`. */
  readonly clusterAddress: string
  /** The storage that the nodes of this cluster share. */
  readonly storage: Storage
  /** Returns the last index of the log. */
  readonly index: () => number
  readonly openedAtMs: number
  /** The nodes of the cluster; undefined if no other node can join. */
  readonly nodes: RaftNodes | undefined
  readonly snapshot: () => AsyncIterable<Buffer>
  /** Rejects with LogicalError 400 for an unusable file. Resolves when the restore is durably scheduled. */
  readonly restore: (file: Buffer, options: { readonly isForced: boolean }) => Promise<void>
}

const REMOVE_FIELDS = { ...TOKEN_FIELDS, server_id: string('ID of the server.') } as const

export const raftPaths = (deps: RaftPathsDeps): PathSpec[] => [
  statusPath('storage/raft/configuration', 'List the servers of this cluster.', deps, () => configurationBody(deps)),
  ...autopilotPaths({ ...deps, servers: () => serversOf(deps) }),
  ...raftBootstrapPaths(() => {
    requireRaft(deps)
    return deps.nodes
  }),
  definePath('storage/raft/remove-peer', REMOVE_FIELDS, 'Remove a server from this cluster.', {
    update: async ({ request, values }) => {
      requireAllowed(deps, request, values.dr_operation_token)
      requireRaft(deps)
      if (values.server_id === '') throw invalid('no server id provided')
      await deps.nodes?.remove(values.server_id)
      return undefined
    },
  }),
  definePath('storage/raft/snapshot', {}, 'Save or restore a snapshot of this cluster.', {
    read: () => save(deps),
    update: ({ request }) => restore(deps, request, false),
  }),
  definePath('storage/raft/snapshot-force', {}, 'Restore a snapshot of another cluster, with its keys.', {
    update: ({ request }) => restore(deps, request, true),
  }),
]

/** Returns the nodes. Called only on the active node. */
const serversOf = async (deps: RaftPathsDeps): Promise<readonly RaftServer[]> => {
  const { nodes, nodeId, clusterAddress, index, openedAtMs: stableSinceMs } = deps
  if (nodes) return nodes.servers()
  const alone = { isVoter: true, isHealthy: true, lastContactMs: 0, lastIndex: index(), term: 1, version: '' }
  return [{ nodeId, clusterAddress, stableSinceMs, ...alone }]
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
