import type { ApiClient } from '../../client/api-client.js'
import { KINDS, type Kind } from '../model/kinds.js'
import { askStatus, REPLICATION } from '../requests/replication.js'
import { isStreaming } from '../requests/replication-status.js'

/** The states of a cluster for which a command or a drill can wait. */
export const READINESS = ['answering', 'unsealed', 'active', 'replicated'] as const
export type Readiness = (typeof READINESS)[number]

/**
 * Returns why a cluster is not in a state. Undefined if it is. A DR secondary is not `active`: it serves no clients.
 */
export const findMissing = async (client: ApiClient, wanted: Readiness): Promise<string | undefined> => {
  const { status, json } = await client.send('GET', 'sys/health')
  if (wanted === 'answering') return json ? undefined : `${client.address} does not serve the Vault HTTP API`
  if (json?.initialized !== true) return 'it is not initialized'
  if (json.sealed === true) return 'it is sealed'
  if (wanted === 'unsealed') return undefined
  if (wanted === 'active') return findInactive(status, json)
  const missing = await Promise.all(KINDS.map((kind) => findUnreplicated(client, kind)))
  return missing.find((text) => text !== undefined)
}

const findInactive = (status: number, { replication_dr_mode }: Record<string, unknown>): string | undefined => {
  if (status === 200) return undefined
  return replication_dr_mode === 'secondary'
    ? 'it is a DR secondary, which serves no clients until it is promoted; wait for "replicated" instead'
    : `sys/health returns ${status}`
}

/**
 * Returns why a secondary does not stream from its primary, or which known secondaries of a primary are not connected.
 * Undefined if the cluster is replicated.
 */
const findUnreplicated = async (client: ApiClient, kind: Kind): Promise<string | undefined> => {
  const status = await askStatus(client, kind)
  const { mode, state, connectionState, knownSecondaries, connectedSecondaries } = status
  if (mode === 'bootstrapping') return `${kind}: the first copy is in progress`
  if (mode === 'secondary')
    return isStreaming(status) ? undefined : `${kind}: state is ${state}, connection_state ${connectionState}`
  const away = knownSecondaries.filter((id) => !connectedSecondaries.includes(id))
  if (away.length === 0) return undefined
  const revoke = `vault write ${REPLICATION}/${kind}/primary/revoke-secondary id=${away[0]}`
  return `${kind}: secondaries not connected: ${away.join(', ')} (if no cluster uses an ID: ${revoke})`
}
