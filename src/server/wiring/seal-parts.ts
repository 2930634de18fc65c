import { chmodSync, existsSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { makeDirectory } from '../../base/make-directory.js'
import { readNamedText } from '../../base/named-file.js'
import type { Random } from '../../base/random.js'
import type { SealBarrier, SealStorage } from '../../core/seal/seal-records.js'
import { type AutoSeal, createStaticSeal } from '../../seal/auto-seal.js'
import { createTransitSeal } from '../../seal/transit-seal.js'
import type { Barrier } from '../../storage/barrier/barrier.js'
import type { Store } from '../../storage/store/store.js'
import type { ServerConfig } from '../config/config.js'
import { createTransitKey, type TransitSurroundings } from './transit-key.js'
import { FAMILIES, KEYS } from '../../storage/keys/key-families.js'

const SEAL_KEYS = FAMILIES.filter(({ owner }) => owner === 'seal').map(({ at }) => at)

/** Creates access to the seal's records in the store, below the barrier. */
export const createSealStorage = (store: Store): SealStorage => ({
  get: (key) => store.get(key),
  async write(records) {
    await store.write((tx) => {
      for (const { key, value } of records) tx.put(key, value)
    })
    // Once initialized, a cluster never reports otherwise.
    await store.settle()
  },
  async delete(key) {
    await store.write((tx) => tx.delete(key))
  },
  async clear() {
    const left = [...SEAL_KEYS]
    // Data written by a failed initialization would be unreadable under the next root key.
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

/** Creates the configured auto-unseal seal; undefined for key shares only. */
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

/**
 * Returns the key that simulates a key service: in a file next to the data, or in memory only if there is no data directory.
 */
const simulatedKey = (dataPath: string | undefined, random: Random): Buffer => {
  if (dataPath === undefined) return random.bytes(KEY_BYTES)
  return keyFile(path.join(dataPath, 'seal.key'), random)
}

/** Reads a key file with mode 0600, or creates it. */
export const keyFile = (file: string, random: Random): Buffer => {
  if (existsSync(file)) return Buffer.from(readNamedText(file).trim(), 'hex')
  makeDirectory(path.dirname(file), 0o700)
  const key = random.bytes(KEY_BYTES)
  writeFileSync(file, `${key.toString('hex')}\n`, { mode: 0o600, flag: 'wx' })
  chmodSync(file, 0o600)
  return key
}
