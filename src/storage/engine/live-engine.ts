import { LogicalError } from '../../logical/errors.js'
import type { Acknowledged, Engine, EngineBatch, EngineSnapshot, Entry, KeyRange, ScanOptions } from './engine.js'

/** The current or a previous engine of a `LiveEngine`, with the number of its open snapshots and scans. */
class EngineHandle {
  readonly engine: Engine
  #readers = 0
  #onIdle: () => void = () => undefined

  constructor(engine: Engine) {
    this.engine = engine
  }

  enter(): void {
    this.#readers++
  }

  leave(): void {
    if (--this.#readers === 0) this.#onIdle()
  }

  /** Resolves when no snapshot or scan is open. May be called only once, when no new snapshot or scan can be opened. */
  idle(): Promise<void> {
    if (this.#readers === 0) return Promise.resolve()
    return new Promise((resolve) => {
      this.#onIdle = resolve
    })
  }
}

class LiveSnapshot implements EngineSnapshot {
  readonly handle: EngineHandle
  readonly inner: EngineSnapshot
  #isOpen = true

  constructor(handle: EngineHandle) {
    this.handle = handle
    this.inner = handle.engine.snapshot()
    handle.enter()
  }

  async close(): Promise<void> {
    if (!this.#isOpen) return
    this.#isOpen = false
    await this.inner.close().finally(() => this.handle.leave())
  }
}

const liveOf = (snapshot: EngineSnapshot): LiveSnapshot => {
  if (!(snapshot instanceof LiveSnapshot)) throw new Error('the snapshot belongs to another engine')
  return snapshot
}

/**
 * The engine of a data directory. A generation change replaces the engine behind it during operation. Calls go to the
 * current engine. Snapshots and scans that were opened before the change continue on the previous engine.
 */
export class LiveEngine implements Engine {
  #handle: EngineHandle
  #written: Set<string> | undefined
  #engineVersion = 0

  constructor(engine: Engine) {
    this.#handle = new EngineHandle(engine)
  }

  get name(): Engine['name'] {
    return this.#handle.engine.name
  }

  get engineVersion(): number {
    return this.#engineVersion
  }

  get(key: string, snapshot?: EngineSnapshot): Buffer | undefined {
    if (snapshot === undefined) return this.#handle.engine.get(key)
    const { handle, inner } = liveOf(snapshot)
    return handle.engine.get(key, inner)
  }

  has(key: string, snapshot?: EngineSnapshot): boolean {
    if (snapshot === undefined) return this.#handle.engine.has(key)
    const { handle, inner } = liveOf(snapshot)
    return handle.engine.has(key, inner)
  }

  async *scan(range: KeyRange, { snapshot, ...options }: ScanOptions = {}): AsyncGenerator<readonly Entry[]> {
    const found = snapshot && liveOf(snapshot)
    const handle = found?.handle ?? this.#handle
    handle.enter()
    try {
      yield* handle.engine.scan(range, found ? { ...options, snapshot: found.inner } : options)
    } catch (error) {
      if (handle === this.#handle) throw error
      throw new LogicalError('unavailable', 'the storage was moved during the read; try again', { cause: error })
    } finally {
      handle.leave()
    }
  }

  batch(): EngineBatch {
    const batch = this.#handle.engine.batch()
    return this.#written ? recordKeys(batch, (key) => this.#written?.add(key)) : batch
  }

  snapshot(): EngineSnapshot {
    return new LiveSnapshot(this.#handle)
  }

  get acknowledged(): Acknowledged | undefined {
    return this.#handle.engine.acknowledged
  }

  acknowledge(next: Acknowledged | undefined): void {
    this.#handle.engine.acknowledge(next)
  }

  settleAcknowledged(): Promise<void> {
    return this.#handle.engine.settleAcknowledged()
  }

  findDamage(): Promise<readonly string[]> {
    return this.#handle.engine.findDamage()
  }

  sizeBytes(): Promise<number> {
    return this.#handle.engine.sizeBytes()
  }

  reopen(): Promise<void> {
    return this.#handle.engine.reopen()
  }

  close(): Promise<void> {
    return this.#handle.engine.close()
  }

  /** Starts to record written keys. Batches that were created before this call are not recorded. */
  follow(): void {
    this.#engineVersion++
    this.#written = new Set()
  }

  unfollow(): void {
    this.#written = undefined
  }

  get writtenCount(): number {
    return this.#written?.size ?? 0
  }

  /** Returns the keys that were written, or may have been written, since the last call. */
  takeWritten(): ReadonlySet<string> {
    const written = this.#written
    if (!written) return new Set()
    this.#written = new Set()
    return written
  }

  /** Switches to another engine. Returns the previous one. */
  switchTo(engine: Engine): EngineHandle {
    const before = this.#handle
    this.#engineVersion++
    this.#handle = new EngineHandle(engine)
    this.unfollow()
    return before
  }
}

/** Wraps a batch. Reports its keys after the write, even after a failed write, which may have reached the disk. */
const recordKeys = (inner: EngineBatch, report: (key: string) => void): EngineBatch => {
  const keys: string[] = []
  return {
    put: (key, value) => {
      keys.push(key)
      inner.put(key, value)
    },
    delete: (key) => {
      keys.push(key)
      inner.delete(key)
    },
    get length() {
      return inner.length
    },
    async write(options) {
      try {
        await inner.write(options)
      } finally {
        for (const key of keys) report(key)
      }
    },
    discard: () => inner.discard(),
  }
}
