import { readNamedText } from '../../base/named-file.js'
import { createSystemRandom } from '../../base/random.js'
import { SealKeys } from '../../core/seal/seal-keys.js'
import { invalid, LogicalError } from '../../logical/errors.js'
import { parseKeyShare } from '../../seal/key-text.js'
import { type Adopted, adoptGeneration } from '../../storage/generations/adopt.js'
import type { Engine } from '../../storage/engine/engine.js'
import {
  listStored,
  openForInspection,
  type StoredRecord,
  type Verification,
  verifyStored,
} from '../../storage/inspection/inspect.js'
import { findLockFile } from '../../storage/engine/level-engine.js'
import { isUnreadable, unreadable } from '../../storage/engine/level-failure.js'
import { dataKey } from '../../storage/keys/raw-keys.js'
import { describeOwner, findLockOwner } from '../../base/process-owner.js'

/** Inspects the data directory of a stopped server for the command line. Failures are `LogicalError` or `InUse`. */

/** Adds the possible next steps to a read error of LevelDB. Returns other errors unchanged. */
export const explain = (error: unknown): unknown =>
  isUnreadable(error) ? unreadable(`the data cannot be read: ${error.message}`, error) : error

/** The error if a running server has the data directory open. */
export class InUse extends Error {
  override readonly name = 'InUse'
}

export interface ListedRecord extends StoredRecord {
  readonly generation: number
  /** False for a generation that a crash has left. */
  readonly isLive: boolean
}

/** Files with keys that decrypt the values. Without a file, values are not decrypted. */
export interface KeySource {
  /** A file with the root key: 32 bytes as hex or base64. */
  readonly rootKeyFile?: string | undefined
  /** A file with unseal keys or recovery keys, one per line. */
  readonly unsealKeyFile?: string | undefined
}

export interface GenerationVerification extends Verification {
  readonly generation: number
  readonly isLive: boolean
}

/** Yields the records of all generations, one generation after another, each in key order. */
export async function* listStorage(dataDir: string): AsyncGenerator<ListedRecord> {
  for await (const { generation, isLive, engine } of inspect(dataDir)) {
    for await (const record of listStored(engine)) yield { generation, isLive, ...record }
  }
}

/** Verifies one generation (default: the live one). Rejects with `LogicalError` `not-found` if it does not exist. */
export const verifyStorage = async (
  dataDir: string,
  keys: KeySource,
  wanted?: number,
): Promise<GenerationVerification> => {
  for await (const { generation, isLive, engine } of inspect(dataDir)) {
    if (wanted === undefined ? !isLive : generation !== wanted) continue
    const rootKey = await findRootKey(engine, keys)
    return { generation, isLive, ...(await verifyStored(engine, rootKey)) }
  }
  throw new LogicalError(
    'not-found',
    wanted === undefined ? `${dataDir} has no live generation` : `${dataDir} has no generation ${wanted}`,
  )
}

/** Makes a generation the live generation. Rejects with `InUse` if a server has the directory open. */
export const adoptStorage = (dataDir: string, generation: number, isForced: boolean): Promise<Adopted> =>
  adoptGeneration(dataDir, generation, { isForced }).catch(rethrowInUse)

async function* inspect(dataDir: string): ReturnType<typeof openForInspection> {
  try {
    yield* openForInspection(dataDir)
  } catch (error) {
    rethrowInUse(error)
  }
}

const rethrowInUse = (error: unknown): never => {
  const lock = findLockFile(error)
  if (lock === undefined) throw error
  const owner = describeOwner(findLockOwner(lock))
  throw new InUse(`a running server holds the lock ${lock}${owner}: stop it first`, { cause: error })
}

const findRootKey = async (engine: Engine, { rootKeyFile, unsealKeyFile }: KeySource): Promise<Buffer | undefined> => {
  if (rootKeyFile !== undefined) return readKeys(rootKeyFile)[0]
  if (unsealKeyFile === undefined) return undefined
  const refuse = () => Promise.reject(new Error('the inspected storage is read-only'))
  const storage = { get: (key: string) => engine.get(dataKey(key)), write: refuse, delete: refuse, clear: refuse }
  const seal = new SealKeys({ storage, random: createSystemRandom() })
  const shares = readKeys(unsealKeyFile).slice(0, seal.config?.threshold)
  const rootKey = await seal.findRootKey(shares)
  if (!rootKey) throw invalid(`the keys in ${unsealKeyFile} do not decrypt this storage`)
  return rootKey
}

const readKeys = (file: string): Buffer[] => {
  const lines = readText(file)
    .split(/\s+/)
    .filter((line) => line !== '')
  if (lines.length === 0) throw invalid(`${file} contains no key`)
  return lines.map((line, index) => {
    const parsed = parseKeyShare(line)
    if (!parsed.ok) throw invalid(`cannot read key ${index + 1} in ${file}: it must be hex or base64`)
    return parsed.share
  })
}

const readText = (file: string): string => {
  try {
    return readNamedText(file)
  } catch (error) {
    throw invalid(`${file} cannot be read: ${error instanceof Error ? error.message : error}`)
  }
}
