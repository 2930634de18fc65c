import type { Engine, EngineBatch } from './engine.js'
import type { EngineSource, Predecessor, Successor } from './engine-source.js'

/** Steps that change a disk: one batch, and those in which a generation replaces another. */
export type DiskStep = 'batch' | 'new generation' | 'move pointer' | 'destroy generation'

/** Asked before the disk is touched. When it throws, the caller gets the error and the disk stays as it is. */
interface DiskWatch {
  beforeRead(): void
  beforeStep(step: DiskStep): void
  /** Waited for before a batch is written, where it returns something to wait for. */
  beforeWrite?(): Promise<void> | undefined
  beforeReopen?(): void
}

/**
 * An engine source behind a watch. A watch that throws from some step on is a process that died there: nothing that still
 * runs of it reads or changes the disk any more.
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
      watch.beforeStep('new generation')
      const fresh = await inner.replace(async (bare) => {
        await prepare(watchEngine(bare, watch))
        watch.beforeStep('move pointer')
      })
      watch.beforeStep('destroy generation')
      engine = watchEngine(fresh, watch)
      return engine
    },
    async begin() {
      watch.beforeStep('new generation')
      return watchSuccessor(await inner.begin(), watch)
    },
    close: () => inner.close(),
    die: () => inner.die(),
  }
}

const watchSuccessor = (inner: Successor, watch: DiskWatch): Successor => ({
  engine: watchEngine(inner.engine, watch),
  follow: () => inner.follow(),
  get writtenCount() {
    return inner.writtenCount
  },
  takeWritten: () => inner.takeWritten(),
  requireRoom: () => inner.requireRoom(),
  takeOver: async () => {
    watch.beforeStep('move pointer')
    return watchPredecessor(await inner.takeOver(), watch)
  },
  abandon: () => inner.abandon(),
})

const watchPredecessor = (inner: Predecessor, watch: DiskWatch): Predecessor => ({
  unread: () => inner.unread(),
  destroy: async () => {
    watch.beforeStep('destroy generation')
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
    const delay = watch.beforeWrite?.()
    if (delay) await delay
    watch.beforeStep('batch')
    await inner.write(options)
  },
  discard: () => inner.discard(),
})
