import { nextTurn } from '../../base/turn.js'
import { LogicalError } from '../../logical/errors.js'
import type { Acknowledged, Engine, EngineBatch, EngineSnapshot, Entry, KeyRange, ScanOptions } from './engine.js'
import { compareKeys, type FrozenLeaves, findIn, leafOf, lowerBound, OrderedMap } from './ordered-map.js'

/** Maximum entries per chunk of a scan. The scan yields to the event loop after each chunk. */
const CHUNK_ENTRIES = 1000
const CHUNK_BYTES = 1024 * 1024
const EMPTY = Buffer.alloc(0)

class MemorySnapshot implements EngineSnapshot {
  readonly leaves: FrozenLeaves
  constructor(leaves: FrozenLeaves) {
    this.leaves = leaves
  }
  async close(): Promise<void> {}
}

const leavesOf = (snapshot: EngineSnapshot): FrozenLeaves => {
  if (!(snapshot instanceof MemorySnapshot)) throw new Error('the snapshot belongs to another engine')
  return snapshot.leaves
}

interface Operation {
  readonly key: string
  readonly value: Buffer | undefined
}

/**
 * A simulated disk. Several engines can open it, one after another. `crash` simulates a power loss: it undoes the
 * writes after the last durable write.
 */
export class MemoryDisk {
  readonly map = new OrderedMap()
  acknowledged: Acknowledged | undefined
  /** The last acknowledged position that survives a power loss. */
  settled: Acknowledged | undefined
  /** The engine that has the disk open; undefined if none has. */
  owner: Engine | undefined
  /** For each batch since the last durable batch, the values that it replaced. */
  #undo: Operation[][] = []

  apply(operations: readonly Operation[], isDurable: boolean): void {
    const replaced: Operation[] = []
    for (const { key, value } of operations) {
      if (!isDurable) replaced.push({ key, value: this.map.get(key) })
      this.#set(key, value)
    }
    // A sync makes all earlier writes durable too, like the sync of a log file.
    if (isDurable) this.#undo = []
    else this.#undo.push(replaced)
  }

  /** The number of batches that a power loss may undo. */
  get unsynced(): number {
    return this.#undo.length
  }

  /** Simulates the end of the process that has the disk open. All writes of the process remain. */
  release(): void {
    this.owner = undefined
  }

  /**
   * Simulates a power loss, and releases the disk. Of the batches that are not durable, keeps only the first `kept`, as
   * if the log file were truncated there.
   */
  crash(kept = 0): void {
    const lost = this.#undo.slice(kept).flat()
    for (const { key, value } of lost.reverse()) this.#set(key, value)
    this.#undo = []
    this.acknowledged = this.settled
    this.owner = undefined
  }

  #set(key: string, value: Buffer | undefined): void {
    if (value === undefined) this.map.delete(key)
    else this.map.set(key, value)
  }
}

/** An engine in memory with the same order and snapshots as a disk engine. */
export class MemoryEngine implements Engine {
  readonly name = 'memory'
  readonly #disk: MemoryDisk

  constructor(disk: MemoryDisk = new MemoryDisk()) {
    if (disk.owner !== undefined)
      throw new LogicalError('unavailable', 'the data directory in memory is in use by another server')
    disk.owner = this
    this.#disk = disk
  }

  get(key: string, snapshot?: EngineSnapshot): Buffer | undefined {
    this.#requireOpen()
    return snapshot === undefined ? this.#disk.map.get(key) : findIn(leavesOf(snapshot), key)
  }

  has(key: string, snapshot?: EngineSnapshot): boolean {
    return this.get(key, snapshot) !== undefined
  }

  async *scan(range: KeyRange, options: ScanOptions = {}): AsyncGenerator<readonly Entry[]> {
    this.#requireOpen()
    const leaves = options.snapshot === undefined ? this.#disk.map.frozen() : leavesOf(options.snapshot)
    let chunk: Entry[] = []
    let bytes = 0
    let left = options.limit ?? Number.POSITIVE_INFINITY
    const walk = options.reverse ? backward(leaves, range) : forward(leaves, range)
    for (const [key, value] of walk) {
      if (left-- <= 0) break
      chunk.push({ key, value: options.values === false ? EMPTY : value })
      bytes += value.length
      if (chunk.length < CHUNK_ENTRIES && bytes < CHUNK_BYTES) continue
      yield chunk
      chunk = []
      bytes = 0
      await nextTurn()
    }
    if (chunk.length > 0) yield chunk
  }

  batch(): EngineBatch {
    this.#requireOpen()
    const operations: Operation[] = []
    return {
      put: (key, value) => void operations.push({ key, value }),
      delete: (key) => void operations.push({ key, value: undefined }),
      get length() {
        return operations.length
      },
      write: async ({ isDurable }) => {
        this.#requireOpen()
        this.#disk.apply(operations, isDurable)
      },
      discard: () => void operations.splice(0),
    }
  }

  snapshot(): EngineSnapshot {
    this.#requireOpen()
    return new MemorySnapshot(this.#disk.map.frozen())
  }

  get acknowledged(): Acknowledged | undefined {
    return this.#disk.acknowledged
  }

  acknowledge(next: Acknowledged | undefined): void {
    this.#disk.acknowledged = next
  }

  async settleAcknowledged(): Promise<void> {
    this.#disk.settled = this.#disk.acknowledged
  }

  async findDamage(): Promise<readonly string[]> {
    return []
  }

  async sizeBytes(): Promise<number> {
    return this.#disk.map.bytes
  }

  async reopen(): Promise<void> {
    this.#requireOpen()
  }

  async close(): Promise<void> {
    if (this.#disk.owner === this) this.#disk.owner = undefined
  }

  #requireOpen(): void {
    if (this.#disk.owner !== this) throw new LogicalError('unavailable', 'the storage is closed')
  }
}

type Pair = readonly [string, Buffer]

const isBelow = (key: string, { gt, gte }: KeyRange): boolean =>
  (gte !== undefined && compareKeys(key, gte) < 0) || (gt !== undefined && compareKeys(key, gt) <= 0)

const isAbove = (key: string, { lt, lte }: KeyRange): boolean =>
  (lt !== undefined && compareKeys(key, lt) >= 0) || (lte !== undefined && compareKeys(key, lte) > 0)

function* forward(leaves: FrozenLeaves, range: KeyRange): Generator<Pair> {
  const start = range.gte ?? range.gt ?? ''
  const first = leafOf(leaves, start)
  for (let index = first; index < leaves.length; index++) {
    const leaf = leaves[index]
    if (leaf === undefined) return
    for (let at = index === first ? lowerBound(leaf.keys, start) : 0; at < leaf.keys.length; at++) {
      const key = leaf.keys[at] ?? ''
      if (isBelow(key, range)) continue
      if (isAbove(key, range)) return
      yield [key, leaf.values[at] ?? EMPTY]
    }
  }
}

function* backward(leaves: FrozenLeaves, range: KeyRange): Generator<Pair> {
  const end = range.lte ?? range.lt
  const last = end === undefined ? leaves.length - 1 : leafOf(leaves, end)
  for (let index = last; index >= 0; index--) {
    const leaf = leaves[index]
    if (leaf === undefined) return
    for (let at = leaf.keys.length - 1; at >= 0; at--) {
      const key = leaf.keys[at] ?? ''
      if (isAbove(key, range)) continue
      if (isBelow(key, range)) return
      yield [key, leaf.values[at] ?? EMPTY]
    }
  }
}
