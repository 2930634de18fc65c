/** sys/storage/raft/autopilot: the health of a cluster's nodes, and the settings for the health check. */
import { formatGoDuration } from '../../base/duration.js'
import { definePath, type Handler, type PathSpec } from '../../logical/backend.js'
import { DR_REFUSAL, invalid, unsupportedOperation } from '../../logical/errors.js'
import type { JsonObject } from '../../logical/json.js'
import type { Storage } from '../../logical/storage.js'
import { AUTOPILOT_FIELDS, autopilotBody, decideAutopilot, saveAutopilot, readAutopilot } from './autopilot-settings.js'
import { notRaft, type RaftServer } from './raft-join-paths.js'
import { string } from '../../logical/fields.js'
import type { Request } from '../../logical/request.js'

export interface RaftAccess {
  /** The label of the storage stanza. */
  readonly label: string
  readonly isDrSecondary: () => boolean
  readonly isOperationTokenAllowed: (token: string, request: Request) => boolean
}

export const TOKEN_FIELDS = {
  dr_operation_token: string('Operation token, on a DR secondary.', '', { isSecret: true }),
} as const

/**
 * Checks the operation token on a DR secondary, which accepts no other tokens. Throws LogicalError 400 if the token is
 * not valid.
 */
export const requireAllowed = (access: RaftAccess, request: Request, token: string): void => {
  if (!access.isDrSecondary()) return
  if (token === '' || !access.isOperationTokenAllowed(token, request)) throw invalid(DR_REFUSAL)
}

export const requireRaft = ({ label }: Pick<RaftAccess, 'label'>): void => {
  if (label !== 'raft') throw notRaft(label)
}

/**
 * Defines a status path. On a DR secondary, the path requires an operation token, in the query of a read or in the body
 * of an update.
 */
export const statusPath = (
  pattern: string,
  summary: string,
  access: RaftAccess,
  body: () => JsonObject | Promise<JsonObject>,
): PathSpec => {
  const answer: Handler<typeof TOKEN_FIELDS> = async ({ request, values }) => {
    requireAllowed(access, request, values.dr_operation_token)
    if (!access.isDrSecondary() && request.operation !== 'read') throw unsupportedOperation()
    requireRaft(access)
    return { data: await body() }
  }
  return definePath(pattern, TOKEN_FIELDS, summary, { read: answer, update: answer })
}

interface AutopilotDeps extends RaftAccess {
  readonly nodeId: string
  /** Stores the settings. */
  readonly storage: Storage
  /** Returns the nodes. Called only on the active node. */
  readonly servers: () => Promise<readonly RaftServer[]>
}

const FIELDS = { ...AUTOPILOT_FIELDS, ...TOKEN_FIELDS } as const
const SETTINGS = Object.keys(AUTOPILOT_FIELDS) as readonly (keyof typeof AUTOPILOT_FIELDS)[]

export const autopilotPaths = (deps: AutopilotDeps): PathSpec[] => [
  statusPath('storage/raft/autopilot/state', 'Read the health of the servers of this cluster.', deps, () =>
    stateBody(deps),
  ),
  definePath('storage/raft/autopilot/configuration', FIELDS, 'Read or change the autopilot settings.', {
    read: readSettings(deps),
    update: changeSettings(deps),
  }),
]

const readSettings =
  (deps: AutopilotDeps): Handler<typeof FIELDS> =>
  ({ request, values }) => {
    requireAllowed(deps, request, values.dr_operation_token)
    requireRaft(deps)
    return { data: autopilotBody(readAutopilot(deps.storage)) }
  }

/**
 * Changes the settings that the request contains. On a DR secondary, an update with only an operation token reads the
 * settings.
 */
const changeSettings =
  (deps: AutopilotDeps): Handler<typeof FIELDS> =>
  async (call) => {
    const { request, values, supplied } = call
    if (!SETTINGS.some(supplied)) {
      if (deps.isDrSecondary()) return readSettings(deps)(call)
      throw invalid(`no setting was sent; the settings are: ${SETTINGS.join(', ')}`)
    }
    requireAllowed(deps, request, values.dr_operation_token)
    requireRaft(deps)
    const after = decideAutopilot(readAutopilot(deps.storage), values, supplied)
    await saveAutopilot(deps.storage, after)
    return undefined
  }

const stateBody = async (deps: AutopilotDeps): Promise<JsonObject> => {
  const servers = await deps.servers()
  const voters = servers.filter(({ isVoter }) => isVoter)
  const others = servers.filter(({ isVoter }) => !isVoter)
  const healthy = voters.filter(({ isHealthy }) => isHealthy)
  const tolerance = Math.max(0, healthy.length - (Math.floor(voters.length / 2) + 1))
  return {
    healthy: servers.every(({ isHealthy }) => isHealthy),
    failure_tolerance: tolerance,
    optimistic_failure_tolerance: tolerance,
    leader: deps.nodeId,
    voters: voters.map(({ nodeId }) => nodeId),
    ...(others.length > 0 && { non_voters: others.map(({ nodeId }) => nodeId) }),
    servers: Object.fromEntries(servers.map((server) => [server.nodeId, serverBody(server, deps)])),
  }
}

const serverBody = (server: RaftServer, { nodeId: leaderId }: AutopilotDeps): JsonObject => {
  const { nodeId, isVoter, isHealthy, stableSinceMs } = server
  const type = isVoter ? 'voter' : 'non-voter'
  return {
    id: nodeId,
    name: nodeId,
    address: server.clusterAddress,
    node_status: isHealthy ? 'alive' : 'failed',
    node_type: type,
    status: nodeId === leaderId ? 'leader' : type,
    healthy: isHealthy,
    ...(stableSinceMs !== undefined && { stable_since: new Date(stableSinceMs).toISOString() }),
    last_contact: nodeId === leaderId ? '0s' : formatContact(server.lastContactMs),
    last_term: server.term,
    last_index: server.lastIndex,
    ...(server.version !== '' && { version: server.version }),
  }
}

/** Formats a duration like Go, in whole milliseconds. */
const formatContact = (ms: number): string => {
  if (ms < 1000) return `${Math.round(ms)}ms`
  const wholeMinutes = formatGoDuration(Math.trunc(ms / 60_000) * 60).replace(/0s$/, '')
  return `${wholeMinutes}${Math.round(ms % 60_000) / 1000}s`
}
