import { createSystemRandom } from '../../base/random.js'
import { sha256Hex } from '../../crypto/digest.js'
import { Keyring } from '../../crypto/keyring.js'
import { LogicalError } from '../../logical/errors.js'
import { findPlain, openWithRoot } from '../barrier/barrier-codec.js'
import { LocalCommitLog } from '../shared-log/commit-log.js'
import { type Engine, prefixRange } from '../engine/engine.js'
import { findGenerations, findLive, generationDirectory } from '../engine/generation-record.js'
import { LevelEngine } from '../engine/level-engine.js'
import { loadStore, readState } from '../commit/load.js'
import { type Category, findCategory, isPlainKey, KEYS, type Tree } from '../keys/key-families.js'
import { DATA_PREFIX, dataKey } from '../keys/raw-keys.js'
import type { CorruptPages } from '../keys/replicable.js'
import { compareTrees, reportPages } from '../trees/tree-sums.js'

/** Reads a data directory while its server is stopped. */

export interface StoredRecord {
  /** `unknown` marks a damaged key: no family contains it. */
  readonly category: Category | 'unknown'
  readonly key: string
  readonly valueBytes: number
  /** Hex digest of the stored value. */
  readonly sha256: string
}

interface OpenGeneration {
  readonly generation: number
  /** False for generations that a crash has left, and for all generations if the live generation is unknown. */
  readonly isLive: boolean
  readonly engine: Engine
}

/**
 * Yields every generation of a data directory in order. A generation is closed when the next one is requested. Throws
 * `LogicalError` `not-found` if the directory has none.
 */
export async function* openForInspection(path: string): AsyncGenerator<OpenGeneration> {
  const found = await findGenerations(path)
  if (found.length === 0)
    throw new LogicalError('not-found', `${path} is not a data directory: it contains no generation`)
  const live = await findLive(path)
  for (const generation of found) {
    const directory = generationDirectory(path, generation)
    const engine = await LevelEngine.open({ directory, createIfMissing: false, isDamageAccepted: true })
    try {
      yield { generation, isLive: generation === live, engine }
    } finally {
      // Inspecting an unverified database must not mark it as verified.
      await (engine.isUnchecked ? engine.discard() : engine.close())
    }
  }
}

/** Yields every stored record in key order. */
export async function* listStored(engine: Engine): AsyncGenerator<StoredRecord> {
  for await (const chunk of engine.scan(prefixRange(DATA_PREFIX))) {
    for (const { key: rawKey, value } of chunk) {
      const key = rawKey.slice(DATA_PREFIX.length)
      yield { category: findCategory(key) ?? 'unknown', key, valueBytes: value.length, sha256: sha256Hex(value) }
    }
  }
}

export interface Verification {
  readonly isSound: boolean
  /** Message of the first error in the state or the log; undefined if there is none. */
  readonly logProblem: string | undefined
  /** Names of damaged files, and messages about other damage in the data. */
  readonly damage: readonly string[]
  readonly firstIndex: number
  readonly lastIndex: number
  /** Empty if the log could not be read. */
  readonly corruptPages: Readonly<Record<Tree, CorruptPages>>
  /** Number of decrypted values, and keys whose values cannot be decrypted; undefined without a root key. */
  readonly values: { readonly opened: number; readonly damaged: readonly string[] } | undefined
}

/**
 * Verifies the files, the hash chain of the log, and the Merkle trees against the data. With a root key, also decrypts
 * every value. Rejects with `LogicalError` if the root key does not decrypt the keyring.
 */
export const verifyStored = async (engine: Engine, rootKey?: Buffer): Promise<Verification> => {
  const values = rootKey === undefined ? undefined : await openAll(engine, rootKey)
  const log = await verifyLog(engine)
  const isTreeSound = log.corruptPages.replicated.size === 0 && log.corruptPages.local.size === 0
  const isSound =
    log.logProblem === undefined && log.damage.length === 0 && isTreeSound && (values?.damaged.length ?? 0) === 0
  return { isSound, ...log, values }
}

const verifyLog = async (engine: Engine): Promise<Omit<Verification, 'isSound' | 'values'>> => {
  const nothing = { replicated: new Map(), local: new Map() }
  const files = await engine.findDamage()
  const unreadable = (logProblem: string) => ({
    logProblem,
    damage: files,
    firstIndex: 0,
    lastIndex: 0,
    corruptPages: nothing,
  })
  const snapshot = engine.snapshot()
  try {
    if (readState(engine) === undefined) return unreadable('the storage has no state record')
    const options = {
      engine,
      commitLog: new LocalCommitLog(engine),
      walRetentionEntries: 0,
      walRetentionBytes: 0,
      ringBytes: 0,
    }
    const { state, trees } = await loadStore(options, createSystemRandom())
    const { corrupt, damage } = await compareTrees(engine, snapshot, trees)
    return {
      logProblem: undefined,
      damage: [...files, ...damage],
      firstIndex: state.base.index + 1,
      lastIndex: state.last.index,
      corruptPages: reportPages(corrupt),
    }
  } catch (error) {
    if (!(error instanceof LogicalError)) throw error
    return unreadable(error.message)
  } finally {
    await snapshot.close()
  }
}

const openAll = async (engine: Engine, rootKey: Buffer): Promise<{ opened: number; damaged: string[] }> => {
  const record = engine.get(dataKey(KEYS.keyring))
  const plain = record === undefined ? undefined : openWithRoot(rootKey, KEYS.keyring, record)
  if (plain === undefined) throw new LogicalError('invalid-request', 'the root key does not decrypt the keyring')
  const keyring = Keyring.parse(plain)
  const damaged: string[] = []
  let opened = 0
  for await (const chunk of engine.scan(prefixRange(DATA_PREFIX))) {
    for (const { key: rawKey, value } of chunk) {
      const key = rawKey.slice(DATA_PREFIX.length)
      if (isPlainKey(key)) continue
      if (findPlain(keyring, key, value) === undefined) damaged.push(key)
      else opened++
    }
  }
  return { opened, damaged }
}
