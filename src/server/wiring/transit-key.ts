/** The transit key of another cluster that a seal uses, and the renewal of its token. */
import { textsOfJson } from '../../base/json-print.js'
import { readNamedText } from '../../base/named-file.js'
import type { Clock } from '../../base/clock.js'
import { limitSignal } from '../../base/linked-signal.js'
import type { Log } from '../../base/log.js'
import type { Network } from '../../base/network.js'
import { LogicalError } from '../../logical/errors.js'
import type { JsonObject, JsonValue } from '../../logical/json.js'
import { parseJson } from '../../logical/json-text.js'
import { ROOT_KEY_BYTES } from '../../seal/key-wrapping.js'
import type { TransitKey } from '../../seal/transit-seal.js'
import type { TransitSealConfig } from '../config/config.js'
import { apiUrl, callApi } from './api-call.js'

export interface TransitSurroundings {
  readonly network: Network
  readonly clock: Clock
  readonly log: Log
  /** Aborts calls in progress, and the renewal. */
  readonly signal: AbortSignal
}

const readPem = (file: string): string => {
  if (file === '') return ''
  try {
    return readNamedText(file)
  } catch (cause) {
    throw new LogicalError('unavailable', `${file} cannot be read, which the seal needs`, { cause })
  }
}

type Ask = (method: 'GET' | 'PUT', path: string, body?: object) => Promise<JsonObject>

const CALL_MS = 10_000

/** Calls the seal's cluster. A refusal is also `unavailable`: the capability or the key may still be granted. */
const createAsk = (config: TransitSealConfig, { network, clock, signal }: TransitSurroundings): Ask => {
  const { address, token, namespace, tls } = config
  return async (method, path, body) => {
    using limited = limitSignal(clock, CALL_MS, signal, `no answer within ${CALL_MS / 1000} s`)
    const answer = await callApi(
      {
        url: apiUrl(address, path),
        method,
        token,
        ...(namespace === '' ? {} : { headers: { 'X-Vault-Namespace': namespace } }),
        ...(body && { body }),
        tls: {
          caPems: tls.caFile === '' ? [] : [readPem(tls.caFile)],
          clientCertPem: readPem(tls.certFile),
          clientKeyPem: readPem(tls.keyFile),
          serverName: tls.serverName,
          skipVerify: tls.skipVerify,
        },
        signal: limited.signal,
        authorityHint: 'check tls_ca_cert',
      },
      network,
    )
    return readAnswer(answer, `${method} ${address}/v1/${path}`)
  }
}

const asObject = (value: JsonValue | undefined): JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {}

const readAnswer = ({ status, body }: { status: number; body: string }, what: string): JsonObject => {
  const json = readObject(body)
  if (status === 200) return json
  const errors = textsOfJson(json.errors).join('; ').trim()
  throw new LogicalError('unavailable', `${what}: ${status}${errors === '' ? '' : ` ${errors}`}`)
}

const readObject = (body: string): JsonObject => {
  try {
    return asObject(parseJson(body))
  } catch {
    return {}
  }
}

export const createTransitKey = (config: TransitSealConfig, surroundings: TransitSurroundings): TransitKey => {
  const ask = createAsk(config, surroundings)
  const mount = config.mountPath.replace(/^\/+|\/+$/g, '')
  const use = async (verb: 'encrypt' | 'decrypt', given: object, wanted: 'ciphertext' | 'plaintext') => {
    const path = `${mount}/${verb}/${config.keyName}`
    const value = asObject((await ask('PUT', path, given)).data)[wanted]
    if (typeof value === 'string' && value !== '') return value
    throw new LogicalError('unavailable', `PUT ${config.address}/v1/${path}: the answer has no ${wanted}`)
  }
  if (!config.disableRenewal) void keepToken(ask, surroundings)
  return {
    encrypt: (plaintext) => use('encrypt', { plaintext }, 'ciphertext'),
    async decrypt(ciphertext) {
      const plaintext = await use('decrypt', { ciphertext }, 'plaintext')
      if (Buffer.from(plaintext, 'base64').length === ROOT_KEY_BYTES) return plaintext
      throw new LogicalError('unavailable', `what ${config.address} has decrypted is no root key`)
    },
  }
}

/** Pause in ms after a failed token lookup. */
const AGAIN_MS = 10_000

/** Renews the token at half of its TTL for as long as the server runs. A token without expiry needs no renewal. */
const keepToken = async (ask: Ask, { clock, log, signal }: TransitSurroundings): Promise<void> => {
  try {
    while (!signal.aborted) await clock.sleep(await renewOnce(ask, log, signal), signal)
  } catch (error) {
    if (signal.aborted) return
    if (error instanceof NotRenewable && error.ttlSeconds === 0) log.info('the token of the seal never ends')
    else log.warn('the token of the seal is not renewed', { error: String(error) })
  }
}

/** Returns the milliseconds until the next renewal; throws if no further one is possible. */
const renewOnce = async (ask: Ask, log: Log, signal: AbortSignal): Promise<number> => {
  try {
    const found = asObject((await ask('GET', 'auth/token/lookup-self')).data)
    if (found.renewable !== true) throw new NotRenewable(Number(found.ttl ?? 0))
    const { lease_duration: seconds } = asObject((await ask('PUT', 'auth/token/renew-self', {})).auth)
    if (!(Number(seconds) > 0)) throw new Error('the answer to the renewal says no time')
    log.info('the token of the seal was renewed', { seconds: Number(seconds) })
    return Math.max(1000, (Number(seconds) * 1000) / 2)
  } catch (error) {
    if (error instanceof NotRenewable || signal.aborted) throw error
    log.warn('the token of the seal could not be renewed; it is tried again', {
      error: error instanceof Error ? error.message : String(error),
    })
    return AGAIN_MS
  }
}

class NotRenewable extends Error {
  readonly ttlSeconds: number
  constructor(ttlSeconds: number) {
    super(`it cannot be renewed, and ends in ${ttlSeconds} s`)
    this.ttlSeconds = ttlSeconds
  }
}
