import { ManualClock } from '../../support/manual-clock.js'
import { openStore } from '../../support/open-store.js'
import { createSeededRandom } from '../../../src/base/random.js'
import type { Engine, EngineBatch } from '../../../src/storage/engine/engine.js'
import { MemoryDisk, MemoryEngine } from '../../../src/storage/engine/memory-engine.js'
import type { RemotePosition, SyncSnapshot, WalEntry } from '../../../src/storage/keys/replicable.js'
import { decodeFrame } from '../../../src/storage/log/frame.js'
import type { Store, StoreOptions } from '../../../src/storage/store/store.js'

export const bytes = (text: string): Buffer => Buffer.from(text)

/** An engine whose batches wait or fail when a test says so. */
export class GatedEngine implements Engine {
  readonly name = 'memory'
  readonly inner: Engine
  /** Written batches, with the number of operations of each. */
  readonly batches: number[] = []
  readonly durable: boolean[] = []
  /** Discarded batches. */
  discarded = 0
  failure: Error | undefined
  /** The error that a batch reports although it was applied. */
  lateFailure: Error | undefined
  /** The engine reopens when this promise resolves. */
  reopening: Promise<void> | undefined
  reopenFailure: Error | undefined
  #gate: { readonly when: 'before' | 'after'; readonly opened: Promise<void> } | undefined

  /** The acknowledged position at each settlement. */
  readonly settled: Engine['acknowledged'][] = []
  settleFailure: Error | undefined

  constructor(inner: Engine) {
    this.inner = inner
  }

  async settleAcknowledged(): Promise<void> {
    if (this.settleFailure) throw this.settleFailure
    const { acknowledged } = this
    await this.inner.settleAcknowledged()
    this.settled.push(acknowledged)
  }

  get acknowledged(): Engine['acknowledged'] {
    return this.inner.acknowledged
  }

  /**
   * Delays batches until the returned function is called: before they are applied, or before the caller is notified.
   */
  shut(when: 'before' | 'after' = 'before'): () => void {
    let open: () => void = () => undefined
    const opened = new Promise<void>((resolve) => {
      open = resolve
    })
    this.#gate = { when, opened }
    return () => {
      this.#gate = undefined
      open()
    }
  }

  get: Engine['get'] = (key, snapshot) => this.inner.get(key, snapshot)
  has: Engine['has'] = (key, snapshot) => this.inner.has(key, snapshot)
  scan: Engine['scan'] = (range, options) => this.inner.scan(range, options)
  snapshot: Engine['snapshot'] = () => this.inner.snapshot()
  acknowledge: Engine['acknowledge'] = (next) => this.inner.acknowledge(next)
  findDamage: Engine['findDamage'] = () => this.inner.findDamage()
  sizeBytes: Engine['sizeBytes'] = () => this.inner.sizeBytes()
  close: Engine['close'] = () => this.inner.close()

  async reopen(): Promise<void> {
    await this.reopening
    if (this.reopenFailure) throw this.reopenFailure
    await this.inner.reopen()
  }

  batch(): EngineBatch {
    const batch = this.inner.batch()
    return {
      put: (key, value) => batch.put(key, value),
      delete: (key) => batch.delete(key),
      get length() {
        return batch.length
      },
      write: async (options) => {
        this.batches.push(batch.length)
        this.durable.push(options.isDurable)
        const gate = this.#gate
        if (gate?.when === 'before') await gate.opened
        if (this.failure) throw this.failure
        await batch.write(options)
        if (this.lateFailure) throw this.lateFailure
        if (gate?.when === 'after') await gate.opened
      },
      discard: () => {
        this.discarded++
        batch.discard()
      },
    }
  }
}

export interface Fixture {
  readonly disk: MemoryDisk
  readonly engine: GatedEngine
  readonly clock: ManualClock
  readonly store: Store
}

export const openFixture = async (
  options: Partial<StoreOptions> = {},
  disk = new MemoryDisk(),
  seed: string | number = 'store',
): Promise<Fixture> => {
  const engine = new GatedEngine(new MemoryEngine(disk))
  const clock = new ManualClock()
  const store = await openStore({ engine, clock, random: createSeededRandom(seed), ...options })
  return { disk, engine, clock, store }
}

export const put = async (store: Store, key: string, text: string): Promise<number> =>
  (await store.write((tx) => tx.put(key, bytes(text)))).index

export const textOf = (store: Store, key: string): string | undefined => store.get(key)?.toString()

export const rootsOf = (store: Pick<SyncSnapshot, 'trees'>): string[] => [
  store.trees.replicated.root().toString('hex'),
  store.trees.local.root().toString('hex'),
]

/** Returns all decoded entries of a store's log after an index. */
export const entriesAfter = async (store: Store, index: number): Promise<WalEntry[]> => {
  const frames = await store.framesAfter(index, Number.MAX_SAFE_INTEGER)
  return (frames ?? []).flatMap((frame) => [...decodeFrame(frame)])
}

/** Copies all data of a store into another one, as a resync does. */
export const copyAll = async (from: Store, to: Store): Promise<RemotePosition> => {
  const snapshot = from.snapshot()
  for (const tree of ['replicated', 'local'] as const) {
    for await (const chunk of snapshot.scan(tree)) await to.importMutations(chunk)
  }
  const remote = { ...snapshot.position, epoch: from.epoch }
  await to.importMutations([], remote)
  await snapshot.close()
  return remote
}

export const remoteOf = (store: Store): RemotePosition => ({ ...store.position, epoch: store.epoch })
