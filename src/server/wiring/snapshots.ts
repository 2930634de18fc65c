import type { Clock } from '../../base/clock.js'
import type { Random } from '../../base/random.js'
import { invalid, sealed } from '../../logical/errors.js'
import type { PlainRecord } from '../../replication/host/host.js'
import { openWithRoot, sealWithRoot } from '../../storage/barrier/barrier-codec.js'
import { categoryOf, isPlainKey, KEYS } from '../../storage/keys/key-families.js'
import type { SyncSnapshot } from '../../storage/keys/replicable.js'
import { type StoredEntry, verifySnapshot, writeSnapshot } from '../../storage/store/snapshot-file.js'
import type { RuntimeParts } from '../parts/runtime-parts.js'

/** Bound to the sealed hashes as the name of what was encrypted. */
const SUMS_NAME = 'snapshot/SHA256SUMS'

/** How a snapshot is to be restored: decided and checked, with nothing changed yet. */
export interface Restoration {
  readonly file: Buffer
  /** The root key that stays good; undefined for a snapshot of another cluster, after which this one is sealed. */
  readonly rootKey: Buffer | undefined
  /** The records that this cluster keeps of its own, with plain values. */
  readonly kept: readonly PlainRecord[]
  /** Where the new log goes on, behind the old one. Asked when nothing more is written. */
  readonly beginAt: () => { readonly index: number; readonly epoch: string }
}

/**
 * This cluster at one moment. What never leaves a cluster is left out, but for the root key as its auto-unseal seal has
 * wrapped it, by which a new cluster with the same seal can be opened.
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

/** Reads the whole file before anything is touched. LogicalError 400 when it is damaged, or another cluster's. */
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

/** Under another root key only what is stored in plain can be kept, and not what this seal has wrapped. */
const isForeignKept = (key: string): boolean => isPlainKey(key) && key !== KEYS.autoWrappedRoot
