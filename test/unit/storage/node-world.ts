import { ManualClock } from '../../support/manual-clock.js'
import { createSeededRandom } from '../../../src/base/random.js'
import { sourceOf } from '../../support/engine-source.js'
import { prepareCopy } from '../../../src/storage/shared-log/copy.js'
import { Follower } from '../../../src/storage/shared-log/follower.js'
import { MemoryLog } from '../../../src/storage/shared-log/memory-log.js'
import { MemorySharedLog } from '../../../src/storage/shared-log/memory-shared-log.js'
import { SharedCommitLog } from '../../../src/storage/shared-log/shared-commit-log.js'
import { ImageNeeded, type Leadership } from '../../../src/storage/shared-log/shared-log.js'
import { MemoryDisk, MemoryEngine } from '../../../src/storage/engine/memory-engine.js'
import type { Store, StoreOptions } from '../../../src/storage/store/store.js'
import { FrozenClock } from '../../support/frozen-clock.js'
import { openStore } from '../../support/open-store.js'
import { GatedEngine } from './fixture.js'

const LEASE_MS = 2000

/** A cluster's shared log in memory, and its time. */
export class NodeWorld {
  readonly clock = new ManualClock()
  readonly log: MemoryLog
  readonly options: Partial<StoreOptions>

  constructor(entriesMax: number, options: Partial<StoreOptions> = {}) {
    this.log = new MemoryLog({ clock: this.clock, leaseMs: LEASE_MS, entriesMax })
    this.options = options
  }

  /** Lets time go by until the fact holds. */
  async until(fact: () => boolean): Promise<void> {
    for (;;) {
      for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
      if (fact()) return
      this.clock.advance(LEASE_MS / 40)
    }
  }
}

/** A life of a node: a process with its store, from start to crash. */
interface Life {
  readonly engine: GatedEngine
  readonly shared: MemorySharedLog
  readonly clock: FrozenClock
  readonly store: Store
  readonly follower: Follower
}

/** A node with a disk that outlives its crashes. It follows, or leads where it is told to. */
export class TestNode {
  readonly name: string
  readonly disk = new MemoryDisk()
  readonly #world: NodeWorld
  life: Life | undefined
  leadership: Leadership | undefined
  imagesRead = 0
  #campaign: AbortController | undefined

  constructor(world: NodeWorld, name: string) {
    this.#world = world
    this.name = name
  }

  async start(): Promise<void> {
    const clock = new FrozenClock(this.#world.clock)
    const shared = new MemorySharedLog(this.#world.log, clock)
    const engine = new GatedEngine(new MemoryEngine(this.disk))
    if (await prepareCopy(sourceOf(engine), shared, new AbortController().signal)) this.imagesRead++
    const commitLog = new SharedCommitLog(engine)
    const store = await openStore({
      engine,
      commitLog,
      clock,
      random: createSeededRandom(this.name),
      ...this.#world.options,
    })
    this.life = { engine, shared, clock, store, follower: new Follower({ store, commitLog, sharedLog: shared }) }
    this.#follow(this.life)
  }

  get alive(): Life {
    if (!this.life) throw new Error(`${this.name} is down`)
    return this.life
  }

  get store(): Store {
    return this.alive.store
  }

  get applied(): number {
    return this.alive.follower.applied.index
  }

  get isLeading(): boolean {
    return this.leadership?.isHeld === true
  }

  /** Resolves when this node leads and its store takes writes, or it has failed to and leaves it to others. */
  async lead(): Promise<void> {
    const { life } = this
    if (!life) return
    this.#campaign = new AbortController()
    const candidate = { nodeId: this.name, apiAddress: '', clusterAddress: '' }
    let leadership: Leadership | undefined
    try {
      const won = await life.shared.campaign(candidate, this.#campaign.signal)
      leadership = won
      void won.lost.then(() => {
        if (this.leadership === won) this.leadership = undefined
        if (this.life === life) this.#follow(life)
      })
      await life.follower.lead(won)
      this.leadership = won
    } catch {
      // Crashed, led too late, or told to follow meanwhile. A lease that is held is renewed until it is given up.
      if (this.life === life) await leadership?.resign()
    }
  }

  /** Its process dies, and its disk loses what was not synced. */
  crash(): void {
    this.#campaign?.abort(new Error('crashed'))
    this.life?.shared.crash()
    // What it was asked while it stood still is answered nowhere, and is of unknown outcome.
    this.life?.clock.thaw()
    this.life = undefined
    this.leadership = undefined
    this.disk.crash()
  }

  #follow(life: Life): void {
    life.follower.follow(new AbortController().signal).catch((error: unknown) => {
      if (this.life !== life) return
      if (error instanceof ImageNeeded) {
        this.crash()
        void this.start()
      } else life.clock.setTimer(500, () => this.life === life && this.#follow(life))
    })
  }
}

/** What lies on a disk, without what differs in order alone. */
export const contentOf = (disk: MemoryDisk): Record<string, string> =>
  Object.fromEntries(
    disk.map.frozen().flatMap(({ keys, values }) => keys.map((key, at) => [key, values[at]?.toString('hex') ?? ''])),
  )
