import { isIP } from 'node:net'
import type { Clock } from '../../base/clock.js'
import type { Network } from '../../base/network.js'
import { invalid, LogicalError } from '../../logical/errors.js'
import type { JsonObject } from '../../logical/json.js'
import type { RetryJoin } from '../config/storage.js'
import { apiUrl, askApi, asObject, readPem } from '../wiring/api-call.js'

/** The API address of the leader, or of a node that forwards to it. Texts are empty if not given. */
export type LeaderAddress = Pick<RetryJoin, 'address' | 'caPem' | 'clientCertPem' | 'clientKeyPem' | 'serverName'>

const READER = 'retry_join names'

/** Returns the leader of a configuration block. Throws LogicalError 503 for an unreadable file. */
export const leaderOf = (join: RetryJoin): LeaderAddress => ({
  ...join,
  caPem: join.caPem || readPem(join.caFile, READER),
  clientCertPem: join.clientCertPem || readPem(join.clientCertFile, READER),
  clientKeyPem: join.clientKeyPem || readPem(join.clientKeyFile, READER),
})

/**
 * Returns the leader once per IP address of its host name, since one name may stand for all nodes. One of the addresses may
 * be this server, which rejects the request. If the name does not resolve or has one address, returns the leader unchanged.
 */
export const atEachAddress = async (leader: LeaderAddress, { resolve }: Network): Promise<readonly LeaderAddress[]> => {
  if (!URL.canParse(leader.address)) return [leader]
  const { hostname } = new URL(leader.address)
  const isName = isIP(hostname.replace(/^\[|\]$/g, '')) === 0
  const found = isName ? ((await resolve?.(hostname).catch(() => undefined)) ?? []) : []
  if (found.length < 2) return [leader]
  return found.map((ip) => {
    const url = new URL(leader.address)
    url.hostname = isIP(ip) === 6 ? `[${ip}]` : ip
    return { ...leader, address: url.href.replace(/\/$/, ''), serverName: leader.serverName || hostname }
  })
}

const FORBIDDEN = 403
/** When the first node joins, the leader's cluster migrates to another storage before it responds. */
const CALL_MS = 30_000

/** The leader rejected the request permanently: a retry would fail too. */
export class JoinRefused extends LogicalError {}

/** Returns the error for a server that already has a cluster. A join would erase its data. */
export const hasCluster = (): LogicalError =>
  invalid('this server already belongs to a cluster: to join another cluster, set an empty storage path')

/**
 * Calls `sys/storage/raft/bootstrap/` on the leader. Rejects with `JoinRefused` on a permanent refusal, and with another
 * LogicalError if a retry may succeed.
 */
export const askLeader = async (
  { address, caPem, clientCertPem, clientKeyPem, serverName }: LeaderAddress,
  what: 'challenge' | 'answer',
  body: JsonObject,
  surroundings: { readonly network: Network; readonly clock: Clock; readonly signal: AbortSignal },
): Promise<JsonObject> => {
  const call = {
    url: apiUrl(address, `sys/storage/raft/bootstrap/${what}`),
    method: 'PUT' as const,
    token: '',
    body,
    tls: { caPems: caPem === '' ? [] : [caPem], clientCertPem, clientKeyPem, ...(serverName && { serverName }) },
    signal: surroundings.signal,
    authorityHint: 'check leader_ca_cert',
  }
  const { status, json, text: reason } = await askApi(call, surroundings, CALL_MS)
  if (status === 200) return asObject(json.data)
  const text = `${address} rejected the join request: ${reason}`
  // A 403 may mean that the challenge has expired or the leader has changed: a new challenge may succeed.
  const isFinal = status >= 400 && status < 500 && status !== FORBIDDEN
  throw isFinal ? new JoinRefused('internal', text) : new LogicalError('internal', text)
}
