import type { Clock } from '../../base/clock.js'
import type { Random } from '../../base/random.js'
import { invalid, sealed } from '../../logical/errors.js'
import type { PlainRecord } from '../../replication/host/host.js'
import { openWithRoot, sealWithRoot } from '../../storage/barrier/barrier-codec.js'
import { categoryOf, isPlainKey, KEYS } from '../../storage/keys/key-families.js'
import type { SyncSnapshot } from '../../storage/keys/replicable.js'
import { readSnapshot, verifySnapshot, writeSnapshot } from '../../storage/store/snapshot-file.js'
import type { OwnIdentity, RuntimeParts } from '../parts/parts.js'
import type { SealRecord } from '../../core/seal/seal-records.js'
import { Barrier } from '../../storage/barrier/barrier.js'
import type { Engine, Entry } from '../../storage/engine/engine.js'
import { openStore, type StoreSurroundings } from '../data/open-store.js'
import type { Storage } from '../../logical/storage.js'
import { LIMITS } from '../../base/limits.js'
import { beginStoreAt } from '../../storage/commit/load.js'
import type { Store } from '../../storage/store/store.js'

/** Associated data of the encrypted hashes. */
const SUMS_NAME = 'snapshot/SHA256SUMS'

/** The validated plan to restore a snapshot. The cluster is still unchanged. */
interface Restoration {
  readonly file: Buffer
  /**
   * The root key, which stays valid. If the snapshot is from another cluster, it is undefined, and this cluster is
   * sealed after the restore.
   */
  readonly rootKey: Buffer | undefined
  /** The records that this cluster keeps. Their values are not encrypted. */
  readonly kept: readonly PlainRecord[]
  /** Returns the position at which the new log continues the old log. Called when no more writes are possible. */
  readonly beginAt: () => { readonly index: number; readonly epoch: string }
}

/**
 * Takes a snapshot of this cluster at one point in time. Records of the category `ignored` are omitted, except the root
 * key that the auto-unseal seal has wrapped. With this key, a new cluster that has the same seal can unseal. Throws
 * LogicalError 503 if the cluster is sealed.
 */
export const takeSnapshot = (
  runtime: RuntimeParts,
  options: { random: Random; clock: Clock },
): AsyncIterable<Buffer> => {
  const { store, seal, identity } = runtime
  const { rootKey } = seal
  if (!rootKey) throw sealed()
  const snapshot = store.snapshot()
  return writeSnapshot({
    meta: { ...identity, index: snapshot.position.index },
    entries: entriesOf(snapshot),
    seal: (sums) => sealWithRoot(options.random, rootKey, SUMS_NAME, sums),
    timeMs: options.clock.now(),
  })
}

async function* entriesOf(snapshot: SyncSnapshot): AsyncGenerator<readonly Entry[]> {
  try {
    const wrapped = snapshot.get(KEYS.autoWrappedRoot)
    if (wrapped) yield [{ key: KEYS.autoWrappedRoot, value: wrapped }]
    yield* snapshot.scan('replicated')
    yield* snapshot.scan('local')
  } finally {
    await snapshot.close()
  }
}

const FOREIGN =
  'could not verify hash file, possibly the snapshot is using a different set of unseal keys; use the snapshot-force API to bypass this check'

/**
 * Reads and checks the whole file before any change. Rejects with LogicalError 400 if the file is damaged. Unless
 * `isForced` is true, also rejects if the snapshot is from another cluster.
 */
export const planRestoration = async (
  { store, seal, barrier }: RuntimeParts,
  file: Buffer,
  { isForced }: { readonly isForced: boolean },
): Promise<Restoration> => {
  const { sums, sealedSums } = await verifySnapshot(file)
  const { rootKey } = seal
  if (!rootKey) throw sealed()
  const isOwn = openWithRoot(rootKey, SUMS_NAME, sealedSums)?.equals(sums) === true
  if (!isOwn && !isForced) throw invalid(FOREIGN)
  const kept: PlainRecord[] = []
  for await (const keys of store.scanKeys({ prefix: '' })) {
    for (const key of keys) {
      if (categoryOf(key) !== 'ignored' || !(isOwn || isForeignKept(key))) continue
      const value = barrier.get(key)
      if (value) kept.push({ key, value })
    }
  }
  return {
    file,
    rootKey: isOwn ? Buffer.from(rootKey) : undefined,
    kept,
    beginAt: () => ({ index: store.position.index + 1, epoch: store.epoch }),
  }
}

/**
 * Returns true if this cluster can keep the record under a different root key. The record must be stored unencrypted,
 * and must not be the root key that this cluster's seal has wrapped.
 */
const isForeignKept = (key: string): boolean => isPlainKey(key) && key !== KEYS.autoWrappedRoot

interface FreshContent extends StoreSurroundings {
  readonly identity: OwnIdentity
  readonly rootKey: Buffer
  readonly sealRecords: readonly SealRecord[]
  readonly records: readonly PlainRecord[]
}

/**
 * Fills the new generation of a wiped cluster with its identity, the keys of the replication set that it joins, and its
 * role.
 */
export const prepareGeneration = async (engine: Engine, content: FreshContent): Promise<void> => {
  const { clock, random, identity, rootKey, sealRecords, records } = content
  const store = await openStore(engine, content, true)
  try {
    await store.write((tx) => tx.put(KEYS.clusterIdentity, Buffer.from(JSON.stringify(identity))))
    // The first full sync also contains the primary's seal records. Until then, these records open the barrier.
    await store.importMutations(sealRecords.map(({ key, value }) => ({ key, value })))
    const barrier = new Barrier({ store, clock, random })
    barrier.unseal(rootKey)
    await barrier.write((tx) => {
      for (const { key, value } of records) tx.put(key, value)
    })
    barrier.seal()
  } finally {
    await store.close()
  }
}

/**
 * Returns the records with which the nodes of a cluster authenticate each other, with unencrypted values. The records
 * stay valid when the other data is replaced.
 */
export const nodeRecords = async (storage: Storage): Promise<readonly PlainRecord[]> =>
  [KEYS.nodeAuthority, KEYS.autopilot, KEYS.revokedNodes, ...(await storage.keys(KEYS.peers))].flatMap((key) => {
    const value = storage.get(key)
    return value ? [{ key, value }] : []
  })

/**
 * Fills a new generation with a snapshot and the records that this cluster keeps. For secondaries, the new log begins
 * at the next index of the old log.
 */
export const prepareRestored = async (engine: Engine, content: StoreSurroundings & Restoration): Promise<void> => {
  const { clock, random, file, rootKey, kept, beginAt } = content
  await beginStoreAt(engine, random, beginAt())
  const store = await openStore(engine, content, true)
  try {
    for await (const entries of readSnapshot(file)) {
      // `keep` writes this cluster's own wrapping of the same root key.
      await store.importMutations(entries.filter(({ key }) => !(rootKey && key === KEYS.autoWrappedRoot)))
    }
    await store.forgetRemote()
    await keep(new Barrier({ store, clock, random }), store, kept, rootKey)
  } finally {
    await store.close()
  }
}

const keep = async (
  barrier: Barrier,
  store: Store,
  kept: Restoration['kept'],
  rootKey: Buffer | undefined,
): Promise<void> => {
  if (rootKey) barrier.unseal(rootKey)
  const target = rootKey ? barrier : store
  // Several transactions are safe, since this generation is not used before it is complete.
  for (const part of partsOf(kept)) {
    await target.write((tx) => {
      for (const { key, value } of part) tx.put(key, value)
    })
  }
  barrier.seal()
}

function* partsOf(records: readonly PlainRecord[]): Generator<readonly PlainRecord[]> {
  let part: PlainRecord[] = []
  let bytes = 0
  for (const record of records) {
    bytes += record.key.length + record.value.length
    if (part.length > 0 && bytes > LIMITS.commitBytesMax) {
      yield part
      part = []
      bytes = record.key.length + record.value.length
    }
    part.push(record)
  }
  yield part
}
