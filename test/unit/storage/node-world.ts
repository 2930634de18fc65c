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

/** The shared log of a cluster in memory, and its clock. */
export class NodeWorld {
  readonly clock = new ManualClock()
  readonly log: MemoryLog
  readonly options: Partial<StoreOptions>

  constructor(entriesMax: number, options: Partial<StoreOptions> = {}) {
    this.log = new MemoryLog({ clock: this.clock, leaseMs: LEASE_MS, entriesMax })
    this.options = options
  }

  /** Advances the clock until the condition holds. */
  async until(fact: () => boolean): Promise<void> {
    for (;;) {
      for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
      if (fact()) return
      this.clock.advance(LEASE_MS / 40)
    }
  }
}

/** One life of a node: a process with its store, from start to crash. */
interface Life {
  readonly engine: GatedEngine
  readonly shared: MemorySharedLog
  readonly clock: FrozenClock
  readonly store: Store
  readonly follower: Follower
}

/** A node with a disk that outlives its crashes. It follows, or becomes the leader when the test says so. */
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

  /** Resolves when this node is the leader and its store accepts writes, or when it has failed to become the leader. */
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
      // The node has crashed, became the leader too late, or must follow by now. A lease is renewed until it is
      // resigned.
      if (this.life === life) await leadership?.resign()
    }
  }

  /** Kills the process; its disk loses unsynced writes. */
  crash(): void {
    this.#campaign?.abort(new Error('crashed'))
    this.life?.shared.crash()
    // Requests during the suspension get no response; their outcome is unknown.
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

/** Returns the content of a disk, without differences in order. */
export const contentOf = (disk: MemoryDisk): Record<string, string> =>
  Object.fromEntries(
    disk.map.frozen().flatMap(({ keys, values }) => keys.map((key, at) => [key, values[at]?.toString('hex') ?? ''])),
  )
