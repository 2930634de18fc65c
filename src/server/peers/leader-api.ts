import { isIP } from 'node:net'
import type { Clock } from '../../base/clock.js'
import type { Network } from '../../base/network.js'
import { invalid, LogicalError } from '../../logical/errors.js'
import type { JsonObject } from '../../logical/json.js'
import type { RetryJoin } from '../config/storage.js'
import { apiUrl, askApi, asObject, readPem } from '../wiring/api-call.js'

/**
 * The API address of the leader, or of a node that forwards to the leader, with the TLS settings of the connection. An
 * absent text is the empty string.
 */
export type LeaderAddress = Pick<RetryJoin, 'address' | 'caPem' | 'clientCertPem' | 'clientKeyPem' | 'serverName'>

const READER = 'retry_join names'

/** Returns the leader of a `retry_join` block. Throws LogicalError 503 if a certificate file cannot be read. */
export const leaderOf = (join: RetryJoin): LeaderAddress => ({
  ...join,
  caPem: join.caPem || readPem(join.caFile, READER),
  clientCertPem: join.clientCertPem || readPem(join.clientCertFile, READER),
  clientKeyPem: join.clientKeyPem || readPem(join.clientKeyFile, READER),
})

/**
 * Returns the leader once per IP address of its host name, since one name may stand for all nodes. If one of the
 * addresses is this server, the server rejects the request. If the name does not resolve or has one address, returns
 * the leader unchanged.
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
/** Timeout of a request to the leader, in ms. The leader may migrate its storage before it responds. */
const TIMEOUT_MS = 30_000

/** The leader rejected the join request permanently. A retry would fail too. */
export class JoinRefused extends LogicalError {}

/** Returns the error for a join request to a server that already has a cluster. The join would erase its data. */
export const hasCluster = (): LogicalError =>
  invalid('this server already belongs to a cluster: to join another cluster, set an empty storage path')

/**
 * Calls `sys/storage/raft/bootstrap/<step>` on the leader, and returns the data of the response. Rejects with
 * `JoinRefused` if the leader rejects the request permanently, and with another LogicalError if a retry may succeed.
 */
export const askLeader = async (
  { address, caPem, clientCertPem, clientKeyPem, serverName }: LeaderAddress,
  step: 'challenge' | 'answer',
  body: JsonObject,
  context: { readonly network: Network; readonly clock: Clock; readonly signal: AbortSignal },
): Promise<JsonObject> => {
  const call = {
    url: apiUrl(address, `sys/storage/raft/bootstrap/${step}`),
    method: 'PUT' as const,
    token: '',
    body,
    tls: { caPems: caPem === '' ? [] : [caPem], clientCertPem, clientKeyPem, ...(serverName && { serverName }) },
    signal: context.signal,
    authorityHint: 'check leader_ca_cert',
  }
  const { status, json, text: reason } = await askApi(call, context, TIMEOUT_MS)
  if (status === 200) return asObject(json.data)
  const text = `${address} rejected the join request: ${reason}`
  // 403 may mean that the challenge has expired or the leader has changed. A new challenge may then succeed.
  const isFinal = status >= 400 && status < 500 && status !== FORBIDDEN
  throw isFinal ? new JoinRefused('internal', text) : new LogicalError('internal', text)
}
