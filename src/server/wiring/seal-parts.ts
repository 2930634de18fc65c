import { messageOf } from '../../base/printable.js'
import path from 'node:path'
import { chmodSync, existsSync, writeFileSync } from 'node:fs'
import { makeDirectory } from '../../base/make-directory.js'
import { readNamedText } from '../../base/named-file.js'
import type { Random } from '../../base/random.js'
import type { SealBarrier, SealStorage } from '../../core/seal/seal-records.js'
import { type AutoSeal, createStaticSeal } from '../../seal/auto-seal.js'
import { createTransitSeal, type TransitKey } from '../../seal/transit-seal.js'
import type { Barrier } from '../../storage/barrier/barrier.js'
import type { Store } from '../../storage/store/store.js'
import type { ServerConfig } from '../config/config.js'
import type { TransitSealConfig } from '../config/seal.js'
import { FAMILIES, KEYS } from '../../storage/keys/key-families.js'
import type { Facilities } from '../../base/facilities.js'
import type { Log } from '../../base/log.js'
import { LogicalError } from '../../logical/errors.js'
import type { JsonObject } from '../../logical/json.js'
import { ROOT_KEY_BYTES } from '../../seal/key-wrapping.js'
import { apiUrl, askApi, asObject, readPem } from './api-call.js'

const SEAL_KEYS = FAMILIES.filter(({ owner }) => owner === 'seal').map(({ at }) => at)

/** Creates the access to the seal's records in the store. The records are not encrypted by the barrier. */
export const createSealStorage = (store: Store): SealStorage => ({
  get: (key) => store.get(key),
  async write(records) {
    await store.write((tx) => {
      for (const { key, value } of records) tx.put(key, value)
    })
    // Waits until the write is durable, since a cluster that has reported `initialized` must never report the opposite.
    await store.settle()
  },
  async delete(key) {
    await store.write((tx) => tx.delete(key))
  },
  async clear() {
    const left = [...SEAL_KEYS]
    // The next root key could not decrypt data that a failed initialization has written.
    for await (const keys of store.scanKeys({ prefix: '' }))
      left.push(...keys.filter((at) => at !== KEYS.clusterIdentity))
    for (let at = 0; at < left.length; at += 500) {
      await store.write((tx) => {
        for (const key of left.slice(at, at + 500)) tx.delete(key)
      })
    }
  },
})

export const createSealBarrier = (barrier: Barrier): SealBarrier => ({
  async initialize(rootKey) {
    await barrier.initialize(rootKey)
    barrier.unseal(rootKey)
  },
  unseal: (rootKey) => barrier.unseal(rootKey),
  isRootKey: (rootKey) => barrier.isRootKey(rootKey),
  seal: () => barrier.seal(),
})

export const createAutoSeal = (
  config: ServerConfig,
  surroundings: TransitSurroundings & { readonly random: Random },
): AutoSeal | undefined => {
  const { seal, storage } = config
  const { random } = surroundings
  if (seal.type === 'shamir') return undefined
  if (seal.type === 'transit') return createTransitSeal(createTransitKey(seal, surroundings))
  const key = seal.key ?? simulatedKey(storage.path, random)
  const previous = seal.previous && { id: seal.previous.keyId, key: seal.previous.key }
  return createStaticSeal({ type: seal.name, current: { id: seal.keyId, key }, previous, random })
}

const KEY_BYTES = 32

/** Returns the key of a simulated key service. The key is in the data directory, or in memory if there is none. */
const simulatedKey = (dataPath: string | undefined, random: Random): Buffer => {
  if (dataPath === undefined) return random.bytes(KEY_BYTES)
  return keyFile(path.join(dataPath, 'seal.key'), random)
}

export const keyFile = (file: string, random: Random): Buffer => {
  if (existsSync(file)) return Buffer.from(readNamedText(file).trim(), 'hex')
  makeDirectory(path.dirname(file), 0o700)
  const key = random.bytes(KEY_BYTES)
  writeFileSync(file, `${key.toString('hex')}\n`, { mode: 0o600, flag: 'wx' })
  chmodSync(file, 0o600)
  return key
}

/** The transit key of another cluster, which the seal uses, and the renewal of the token for it. */

export interface TransitSurroundings extends Pick<Facilities, 'clock' | 'network' | 'log'> {
  /** Aborts calls in progress and the renewal of the token. */
  readonly signal: AbortSignal
}

type Ask = (method: 'GET' | 'PUT', path: string, body?: object) => Promise<JsonObject>

const TIMEOUT_MS = 10_000
const READER = 'the seal needs'

/**
 * Returns a function that calls the cluster of the seal. Rejects with LogicalError 503 on any failure, even on a 403,
 * since an operator may grant the capability later.
 */
const createAsk = (config: TransitSealConfig, surroundings: TransitSurroundings): Ask => {
  const { address, token, namespace, tls } = config
  const headers = namespace === '' ? {} : { 'X-Vault-Namespace': namespace }
  return async (method, path, body) => {
    const call = {
      url: apiUrl(address, path),
      method,
      token,
      headers,
      signal: surroundings.signal,
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
    const { status, json, text } = await askApi(call, surroundings, TIMEOUT_MS)
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
    throw new LogicalError('unavailable', `PUT ${config.address}/v1/${path}: the response has no ${wanted}`)
  }
  if (!config.disableRenewal) void renewToken(ask, surroundings)
  return {
    encrypt: (plaintext) => use('encrypt', { plaintext }, 'ciphertext'),
    async decrypt(ciphertext) {
      const plaintext = await use('decrypt', { ciphertext }, 'plaintext')
      if (Buffer.from(plaintext, 'base64').length === ROOT_KEY_BYTES) return plaintext
      throw new LogicalError('unavailable', `the value that ${config.address} decrypted is not a root key`)
    },
  }
}

/** Pause after a failed renewal, in ms. */
const RETRY_MS = 10_000

/** Renews the token at half of its TTL until the server stops. A token without expiry needs no renewal. */
const renewToken = async (ask: Ask, { clock, log, signal }: TransitSurroundings): Promise<void> => {
  try {
    while (!signal.aborted) await clock.sleep(await renewOnce(ask, log, signal), signal)
  } catch (error) {
    if (signal.aborted) return
    if (error instanceof NotRenewable && error.ttlSeconds === 0) log.info('the seal token does not expire')
    else log.warn('the seal token is not renewable: replace it before it expires', { error: String(error) })
  }
}

/**
 * Renews the token. Returns the time until the next renewal, in ms. Rejects with NotRenewable if it is not renewable.
 */
const renewOnce = async (ask: Ask, log: Log, signal: AbortSignal): Promise<number> => {
  try {
    const found = asObject((await ask('GET', 'auth/token/lookup-self')).data)
    if (found.renewable !== true) throw new NotRenewable(Number(found.ttl ?? 0))
    const { lease_duration: seconds } = asObject((await ask('PUT', 'auth/token/renew-self', {})).auth)
    if (!(Number(seconds) > 0)) throw new Error('the renewal response has no lease duration')
    log.info('the seal token was renewed', { seconds: Number(seconds) })
    return Math.max(1000, (Number(seconds) * 1000) / 2)
  } catch (error) {
    if (error instanceof NotRenewable || signal.aborted) throw error
    log.warn('cannot renew the seal token, retrying', { error: messageOf(error) })
    return RETRY_MS
  }
}

class NotRenewable extends Error {
  readonly ttlSeconds: number
  constructor(ttlSeconds: number) {
    super(`the token is not renewable and expires in ${ttlSeconds} s`)
    this.ttlSeconds = ttlSeconds
  }
}
