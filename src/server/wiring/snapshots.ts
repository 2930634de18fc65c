import type { Clock } from '../../base/clock.js'
import type { Random } from '../../base/random.js'
import { invalid, sealed } from '../../logical/errors.js'
import type { PlainRecord } from '../../replication/host/host.js'
import { openWithRoot, sealWithRoot } from '../../storage/barrier/barrier-codec.js'
import { categoryOf, isPlainKey, KEYS } from '../../storage/keys/key-families.js'
import type { SyncSnapshot } from '../../storage/keys/replicable.js'
import { type StoredEntry, verifySnapshot, writeSnapshot } from '../../storage/store/snapshot-file.js'
import type { RuntimeParts } from '../parts/runtime-parts.js'

/** The name bound to the encrypted hashes as associated data. */
const SUMS_NAME = 'snapshot/SHA256SUMS'

/** How to restore a snapshot: decided and validated, without changes so far. */
export interface Restoration {
  readonly file: Buffer
  /** The root key that stays valid; undefined for a snapshot of another cluster, which leaves this one sealed. */
  readonly rootKey: Buffer | undefined
  /** The records that this cluster keeps, with plaintext values. */
  readonly kept: readonly PlainRecord[]
  /** Returns where the new log continues after the old one. Called once no more writes are possible. */
  readonly beginAt: () => { readonly index: number; readonly epoch: string }
}

/**
 * Takes a snapshot of this cluster at one point in time. Cluster-local data is omitted, except for the root key as wrapped
 * by the auto-unseal seal, with which a new cluster with the same seal can unseal.
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

async function* entriesOf(snapshot: SyncSnapshot): AsyncGenerator<readonly StoredEntry[]> {
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

/** Reads and checks the whole file before any change. Throws LogicalError 400 if it is damaged, or from another cluster. */
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
 * Returns whether a key can be kept under a different root key: only records stored in plaintext, except for the one wrapped
 * by this seal.
 */
const isForeignKept = (key: string): boolean => isPlainKey(key) && key !== KEYS.autoWrappedRoot
