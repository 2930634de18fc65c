import type { Engine, EngineBatch } from './engine.js'
import type { EngineSource, Predecessor, Successor } from './engine-source.js'

/** Steps that change a disk: the write of one batch, and the three steps of a generation change. */
export type DiskStep = 'batch' | 'new generation' | 'move pointer' | 'destroy generation'

/**
 * Its methods run before a disk access. If one of them throws, the disk access does not happen, and the caller gets the
 * error. Exception: `replace` reports `destroy generation` after the destruction.
 */
interface DiskWatch {
  beforeRead(): void
  beforeStep(step: DiskStep): void
  /** Returns a promise that delays a step (`before`) or its result (`after`), to simulate disk latency. */
  delay?(step: DiskStep, side: 'before' | 'after'): Promise<void> | undefined
  beforeReopen?(): void
}

/**
 * Wraps an engine source, so that `watch` is called before each disk access. A watch that throws from a certain step on
 * simulates a dead process: the remaining code can no longer read or change the disk.
 */
export const watchSource = (inner: EngineSource, watch: DiskWatch): EngineSource => {
  let engine = watchEngine(inner.engine, watch)
  return {
    get generation() {
      return inner.generation
    },
    get engine() {
      return engine
    },
    isUnchecked: inner.isUnchecked ?? false,
    async replace(prepare) {
      await begin(watch, 'new generation')
      const fresh = await inner.replace(async (bare) => {
        await prepare(watchEngine(bare, watch))
        await begin(watch, 'move pointer')
      })
      engine = watchEngine(fresh, watch)
      await begin(watch, 'destroy generation')
      return engine
    },
    async begin() {
      await begin(watch, 'new generation')
      return watchSuccessor(await inner.begin(), watch)
    },
    close: () => inner.close(),
    die: () => inner.die(),
  }
}

/** Returns undefined without a delay, so that the caller can continue in the same event-loop turn. */
const begin = (watch: DiskWatch, step: DiskStep): Promise<void> | undefined => {
  const delay = watch.delay?.(step, 'before')
  if (delay) return delay.then(() => watch.beforeStep(step))
  watch.beforeStep(step)
  return undefined
}

const watchSuccessor = (inner: Successor, watch: DiskWatch): Successor => ({
  engine: watchEngine(inner.engine, watch),
  follow: () => inner.follow(),
  get writtenCount() {
    return inner.writtenCount
  },
  takeWritten: () => inner.takeWritten(),
  requireFreeSpace: () => inner.requireFreeSpace(),
  takeOver: async () => {
    await begin(watch, 'move pointer')
    return watchPredecessor(await inner.takeOver(), watch)
  },
  abandon: () => inner.abandon(),
})

const watchPredecessor = (inner: Predecessor, watch: DiskWatch): Predecessor => ({
  unread: () => inner.unread(),
  destroy: async () => {
    await begin(watch, 'destroy generation')
    await inner.destroy()
  },
})

const watchEngine = (inner: Engine, watch: DiskWatch): Engine => ({
  name: inner.name,
  get engineVersion() {
    return inner.engineVersion
  },
  get: (key, snapshot) => {
    watch.beforeRead()
    return inner.get(key, snapshot)
  },
  has: (key, snapshot) => {
    watch.beforeRead()
    return inner.has(key, snapshot)
  },
  async *scan(range, options) {
    watch.beforeRead()
    for await (const chunk of inner.scan(range, options)) {
      watch.beforeRead()
      yield chunk
    }
  },
  batch: () => watchBatch(inner.batch(), watch),
  snapshot: () => {
    watch.beforeRead()
    return inner.snapshot()
  },
  get acknowledged() {
    return inner.acknowledged
  },
  acknowledge: (next) => {
    watch.beforeRead()
    inner.acknowledge(next)
  },
  settleAcknowledged: async () => {
    watch.beforeRead()
    await inner.settleAcknowledged()
  },
  findDamage: () => inner.findDamage(),
  sizeBytes: () => inner.sizeBytes(),
  reopen: async () => {
    watch.beforeRead()
    watch.beforeReopen?.()
    await inner.reopen()
  },
  close: () => inner.close(),
})

const watchBatch = (inner: EngineBatch, watch: DiskWatch): EngineBatch => ({
  put: (key, value) => inner.put(key, value),
  delete: (key) => inner.delete(key),
  get length() {
    return inner.length
  },
  write: async (options) => {
    const begun = begin(watch, 'batch')
    if (begun) await begun
    await inner.write(options)
    const ended = watch.delay?.('batch', 'after')
    if (ended) await ended
  },
  discard: () => inner.discard(),
})
