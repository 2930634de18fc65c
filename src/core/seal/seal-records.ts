/**
 * The storage and barrier interfaces of the seal, and its records. The barrier does not encrypt these records, because they
 * are needed to open it.
 *
 * - The shares (unseal keys, or recovery keys with auto-unseal) are combined into the share key.
 * - The share key unwraps the root key.
 * - The root key opens the keyring.
 *
 * The configuration and the share-wrapped root key are replicated, so the primary's shares open every member of its set. An
 * auto-unseal seal wraps the root key a second time, for its own cluster only.
 */
import { parseJsonObject } from '../../base/json.js'
import { LogicalError } from '../../logical/errors.js'
import { findSealConfigProblem, type SealConfig } from '../../seal/config.js'

export interface SealRecord {
  readonly key: string
  readonly value: Buffer
}

export interface SealStorage {
  get(key: string): Buffer | undefined
  /** Writes all records durably, or none. */
  write(records: readonly SealRecord[]): Promise<void>
  delete(key: string): Promise<void>
  /** Removes everything left by an incomplete initialization. */
  clear(): Promise<void>
}

export interface SealBarrier {
  /** Creates a keyring and stores it encrypted with the root key. The barrier stays sealed. */
  initialize(rootKey: Buffer): Promise<void>
  /** Throws if the root key does not open the stored keyring. */
  unseal(rootKey: Buffer): Promise<void> | void
  /** Returns whether the root key opens the stored keyring, sealed or not. */
  isRootKey(rootKey: Buffer): boolean
  /** Discards the keyring from memory. */
  seal(): void
}

/** Everything a cluster needs to use another cluster's seal: a primary sends it to joining secondaries. */
export interface SealMaterial {
  readonly rootKey: Buffer
  /** Replicated records: seal configuration, share-wrapped root key, keyring. */
  readonly records: readonly SealRecord[]
}

export const encodeSealConfig = (config: SealConfig): Buffer =>
  Buffer.from(JSON.stringify({ shares: config.shares, threshold: config.threshold }))

/**
 * Throws LogicalError `internal` for a configuration that no initialization can have written: with it, the cluster would
 * wait for shares forever.
 */
export const parseSealConfig = (value: Buffer): SealConfig => {
  const { shares, threshold } = parseJsonObject(value) ?? {}
  const isWhole = typeof shares === 'number' && typeof threshold === 'number'
  const problem = isWhole ? findSealConfigProblem({ shares, threshold }) : 'it cannot be read'
  if (!isWhole || problem !== undefined)
    throw new LogicalError('internal', `the stored configuration of the seal is damaged: ${problem}`)
  return { shares, threshold }
}

/** The cluster that a server without data belongs to, or is joining, as seen by the seal. */
export interface SealJoin {
  readonly config: SealConfig
  /**
   * - `wanted`: shares authenticate this server to the cluster that it wants to join.
   * - `needless`: the cluster has admitted this server, and the data is still arriving.
   * - `too-early`: too few other nodes are present to know which cluster the shares open.
   */
  readonly shares: 'wanted' | 'needless' | 'too-early'
  /**
   * Presents the share key to the cluster. Returns false if the key is wrong; rejects with the reason if the cluster did not
   * admit this server.
   */
  open(shareKey: Buffer): Promise<boolean>
}

/** Callbacks for the barrier's opening and closing. */
export interface SealHooks {
  /**
   * Populates a new cluster while its barrier is open for the first time: mounts, policies, the first root token. Stops what
   * it starts; `onUnsealed` follows when the cluster is actually unsealed.
   */
  createCluster(): Promise<{ readonly rootToken: string }>
  /** Called when the barrier is open. If it throws, the cluster stays sealed. */
  onUnsealed(rootKey: Buffer): Promise<void>
  /** Called before the barrier closes: stops everything that reads through it. */
  onSealed(): Promise<void>
}
