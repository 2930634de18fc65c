/**
 * The storage and the barrier as the seal needs them, and the records that the seal keeps. The records are stored as
 * they are, beneath the barrier, because they open it.
 *
 * The shares (unseal keys, or recovery keys under auto-unseal) make the share key, the share key unwraps the root key,
 * the root key opens the keyring. Configuration and share-wrapped root key are replicated, so the shares of the primary
 * open every member of its set; an auto-unseal seal wraps the root key a second time, for its own cluster only.
 */
import { LogicalError } from '../../logical/errors.js'
import { findSealConfigProblem, type SealConfig } from '../../seal/config.js'

export interface SealRecord {
  readonly key: string
  readonly value: Buffer
}

export interface SealStorage {
  get(key: string): Buffer | undefined
  /** All of it durably, or nothing. */
  write(records: readonly SealRecord[]): Promise<void>
  delete(key: string): Promise<void>
  /** Removes everything that an initialisation which did not finish has left behind. */
  clear(): Promise<void>
}

export interface SealBarrier {
  /** Makes a keyring and stores it encrypted with the root key; stays sealed. */
  initialize(rootKey: Buffer): Promise<void>
  /** Throws when the root key does not open the stored keyring. */
  unseal(rootKey: Buffer): Promise<void> | void
  /** Whether the root key opens the stored keyring, sealed or not. */
  isRootKey(rootKey: Buffer): boolean
  /** Forgets the keyring. */
  seal(): void
}

/** Everything a cluster needs to live under the seal of another one: what a primary hands to those who join. */
export interface SealMaterial {
  readonly rootKey: Buffer
  /** Replicated records: seal configuration, share-wrapped root key, keyring. */
  readonly records: readonly SealRecord[]
}

export const encodeSealConfig = (config: SealConfig): Buffer =>
  Buffer.from(JSON.stringify({ shares: config.shares, threshold: config.threshold }))

/** LogicalError `internal` for one that no initialisation can have written: a cluster with it would wait for shares for ever. */
export const parseSealConfig = (value: Buffer): SealConfig => {
  const { shares, threshold } = parse(value) ?? {}
  const isWhole = typeof shares === 'number' && typeof threshold === 'number'
  const problem = isWhole ? findSealConfigProblem({ shares, threshold }) : 'it cannot be read'
  if (!isWhole || problem !== undefined)
    throw new LogicalError('internal', `the stored configuration of the seal is damaged: ${problem}`)
  return { shares, threshold }
}

const parse = (value: Buffer): Readonly<Record<string, unknown>> | undefined => {
  try {
    return JSON.parse(value.toString()) as Readonly<Record<string, unknown>>
  } catch {
    return undefined
  }
}
