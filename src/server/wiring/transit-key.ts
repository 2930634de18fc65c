/** The transit key of another cluster that a seal uses, and the renewal of its token. */
import type { Facilities } from '../../base/facilities.js'
import type { Log } from '../../base/log.js'
import { LogicalError } from '../../logical/errors.js'
import type { JsonObject } from '../../logical/json.js'
import { ROOT_KEY_BYTES } from '../../seal/key-wrapping.js'
import type { TransitKey } from '../../seal/transit-seal.js'
import type { TransitSealConfig } from '../config/config.js'
import { apiUrl, askApi, asObject, readPem } from './api-call.js'

export interface TransitSurroundings extends Pick<Facilities, 'clock' | 'network' | 'log'> {
  /** Aborts calls in progress, and the renewal. */
  readonly signal: AbortSignal
}

type Ask = (method: 'GET' | 'PUT', path: string, body?: object) => Promise<JsonObject>

const CALL_MS = 10_000
const READER = 'the seal needs'

/** Calls the seal's cluster. A refusal is also `unavailable`: the capability or the key may still be granted. */
const createAsk = (config: TransitSealConfig, surroundings: TransitSurroundings): Ask => {
  const { address, token, namespace, tls } = config
  const headers = namespace === '' ? {} : { 'X-Vault-Namespace': namespace }
  return async (method, path, body) => {
    const call = {
      ...{ url: apiUrl(address, path), method, token, headers, signal: surroundings.signal },
      ...(body && { body }),
      tls: {
        caPems: tls.caFile === '' ? [] : [readPem(tls.caFile, READER)],
        clientCertPem: readPem(tls.certFile, READER),
        clientKeyPem: readPem(tls.keyFile, READER),
        serverName: tls.serverName,
        skipVerify: tls.skipVerify,
      },
      authorityHint: 'check tls_ca_cert',
    }
    const { status, json, text } = await askApi(call, surroundings, CALL_MS)
    if (status === 200) return json
    throw new LogicalError('unavailable', `${method} ${address}/v1/${path}: ${text}`)
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
