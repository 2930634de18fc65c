/**
 * The storage and barrier interfaces of the seal, and its records. The barrier does not encrypt these records, because
 * opening the barrier requires them.
 *
 * - The shares (unseal keys, or recovery keys with auto-unseal) are combined into the share key.
 * - The share key unwraps the root key.
 * - The root key opens the keyring.
 *
 * The configuration and the share-wrapped root key are replicated, so the primary's shares unseal every cluster of its
 * replication set. An auto-unseal seal wraps the root key a second time, only for its own cluster.
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
  /** Removes all data that an incomplete initialization has left. */
  clear(): Promise<void>
}

export interface SealBarrier {
  /** Creates a keyring and stores it encrypted with the root key. The barrier stays sealed. */
  initialize(rootKey: Buffer): Promise<void>
  /** Rejects if the root key does not open the stored keyring. */
  unseal(rootKey: Buffer): Promise<void> | void
  /** Returns whether the root key opens the stored keyring, sealed or not. */
  isRootKey(rootKey: Buffer): boolean
  /** Discards the keyring from memory. */
  seal(): void
}

/** The data that a secondary needs to use the seal of its primary. A primary sends this data to a new secondary. */
export interface SealMaterial {
  readonly rootKey: Buffer
  /** Replicated records: seal configuration, share-wrapped root key, keyring. */
  readonly records: readonly SealRecord[]
}

export const encodeSealConfig = (config: SealConfig): Buffer =>
  Buffer.from(JSON.stringify({ shares: config.shares, threshold: config.threshold }))

/**
 * Parses the stored seal configuration. Throws LogicalError `internal` for a damaged configuration, with which the
 * cluster would wait for shares forever.
 */
export const parseSealConfig = (value: Buffer): SealConfig => {
  const { shares, threshold } = parseJsonObject(value) ?? {}
  const isWhole = typeof shares === 'number' && typeof threshold === 'number'
  const problem = isWhole ? findSealConfigProblem({ shares, threshold }) : 'it cannot be read'
  if (!isWhole || problem !== undefined)
    throw new LogicalError('internal', `the stored configuration of the seal is damaged: ${problem}`)
  return { shares, threshold }
}

/** The cluster that a server without data is joining, or has joined. */
export interface SealJoin {
  readonly config: SealConfig
  /**
   * - `wanted`: shares authenticate this server to the cluster that it wants to join.
   * - `needless`: the cluster has admitted this server, and the data is still arriving.
   * - `too-early`: too few other nodes are reachable to determine the cluster that the shares belong to.
   */
  readonly shares: 'wanted' | 'needless' | 'too-early'
  /**
   * Joins the cluster with the share key. Returns false if the key is wrong. Rejects with the reason if the cluster
   * does not admit this server.
   */
  open(shareKey: Buffer): Promise<boolean>
}

/** Functions that the seal calls when the barrier opens and closes. */
export interface SealHooks {
  /**
   * Populates a new cluster while its barrier is open for the first time: mounts, policies, the first root token. Must
   * stop everything that it starts. `onUnsealed` is called later, when the cluster is unsealed.
   */
  createCluster(): Promise<{ readonly rootToken: string }>
  /** Called when the barrier is open. If it throws, the cluster stays sealed. */
  onUnsealed(rootKey: Buffer): Promise<void>
  /** Called before the barrier closes. Must stop everything that reads from the barrier. */
  onSealed(): Promise<void>
}
