import { textsOfJson } from '../../base/json-print.js'
import { isIP } from 'node:net'
import { readNamedText } from '../../base/named-file.js'
import type { Clock } from '../../base/clock.js'
import { limitSignal } from '../../base/linked-signal.js'
import type { Network } from '../../base/network.js'
import { invalid, LogicalError } from '../../logical/errors.js'
import type { JsonObject } from '../../logical/json.js'
import { parseJson } from '../../logical/json-text.js'
import type { RetryJoin } from '../config/config.js'
import { apiUrl, callApi } from '../wiring/api-call.js'

/** The API address of the leader, or of a node that forwards to it. Texts are empty if not given. */
export interface LeaderAddress {
  readonly address: string
  readonly caPem: string
  readonly clientCertPem: string
  readonly clientKeyPem: string
  readonly serverName: string
}

/** Returns the leader of a configuration block. Throws LogicalError 503 for an unreadable file. */
export const leaderOf = (join: RetryJoin): LeaderAddress => ({
  ...join,
  caPem: join.caPem || readPem(join.caFile),
  clientCertPem: join.clientCertPem || readPem(join.clientCertFile),
  clientKeyPem: join.clientKeyPem || readPem(join.clientKeyFile),
})

/**
 * Returns the leader at each address of its name. One name may stand for all nodes, including this one, which has nothing to
 * join and is skipped. A name that does not resolve, or has a single address, is left to the connection.
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

const readPem = (file: string): string => {
  if (file === '') return ''
  try {
    return readNamedText(file)
  } catch (cause) {
    throw new LogicalError('unavailable', `${file} cannot be read, which retry_join names`, { cause })
  }
}

const FORBIDDEN = 403
/** When the first node joins, the leader's cluster migrates to another storage before it responds. */
const CALL_MS = 30_000

/** The leader refuses, and will refuse again. */
export class JoinRefused extends LogicalError {}

/** Returns the error of a server that has data which joining would erase. */
export const hasCluster = (): LogicalError =>
  invalid('this server has a cluster already; to join another one it must be given an empty path')

/**
 * Calls `sys/storage/raft/bootstrap/` on the leader. Rejects with `JoinRefused` on a permanent refusal, and with another
 * LogicalError if a retry may succeed.
 */
export const askLeader = async (
  { address, caPem, clientCertPem, clientKeyPem, serverName }: LeaderAddress,
  what: 'challenge' | 'answer',
  body: JsonObject,
  { network, clock, signal }: { readonly network: Network; readonly clock: Clock; readonly signal: AbortSignal },
): Promise<JsonObject> => {
  using limited = limitSignal(clock, CALL_MS, signal, `no answer within ${CALL_MS / 1000} s`)
  const answer = await callApi(
    {
      url: apiUrl(address, `sys/storage/raft/bootstrap/${what}`),
      method: 'PUT',
      token: '',
      body,
      tls: { caPems: caPem === '' ? [] : [caPem], clientCertPem, clientKeyPem, ...(serverName && { serverName }) },
      signal: limited.signal,
      authorityHint: 'check leader_ca_cert',
    },
    network,
  )
  return readData(address, answer)
}

const readData = (address: string, { status, body }: { status: number; body: string }): JsonObject => {
  const json = readObject(body)
  if (status === 200) return asObject(json.data)
  const errors = textsOfJson(json.errors).join('; ').trim()
  const text = `${address} does not let this server join: ${status}${errors === '' ? '' : ` ${errors}`}`
  // A 403 may mean that the challenge has expired or the leader has changed: a new challenge may succeed.
  const isFinal = status >= 400 && status < 500 && status !== FORBIDDEN
  if (isFinal) throw new JoinRefused('internal', text)
  throw new LogicalError('internal', text)
}

const readObject = (text: string): JsonObject => {
  try {
    return asObject(parseJson(text))
  } catch {
    return {}
  }
}

const asObject = (value: unknown): JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {}
