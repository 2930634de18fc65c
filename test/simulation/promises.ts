import type { Store } from '../../src/storage/store/store.js'
import type { Member, World } from './world.js'

/** What a store has promised and not taken back. */
interface PromiseState {
  /** The log index at which each reader of a snapshot goes on. */
  readonly pins: Map<object, number>
  /** The last index of the fenced categories when the fence was complete. */
  fence: { readonly index: number; readonly lastIndex: () => number } | undefined
}

/**
 * Judges two promises of a store. Its log begins at or before each index that a reader has pinned. A fenced category
 * gets no more entries. Judges clusters of one server, because a node also writes the entries of another node.
 */
export class PromiseJudge {
  readonly #world: World
  readonly #member: Member
  readonly #known = new WeakMap<Store, PromiseState>()

  constructor(world: World, member: Member) {
    this.#world = world
    this.#member = member
  }

  check(): void {
    const { cluster, name } = this.#member
    const store = cluster.server?.runtime?.store
    if (cluster.hasNodes || !store) return
    const { pins, fence } = this.#promisesOf(store)
    const pinned = Math.min(...pins.values())
    if (store.firstIndex - 1 > pinned)
      this.#world.fail(`the log of ${name} begins at ${store.firstIndex}, and a reader goes on after ${pinned}`)
    // The entries of its primary are not fenced.
    if (!fence || store.remotePosition || store.isResyncing) return
    const entries = fence.lastIndex() - fence.index
    if (entries > 0) this.#world.fail(`the log of ${name} got ${entries} entries of a fenced category`)
  }

  #promisesOf(store: Store): PromiseState {
    const known = this.#known.get(store) ?? observe(store)
    this.#known.set(store, known)
    return known
  }
}

/** Records what the store promises from now on. */
const observe = (store: Store): PromiseState => {
  const promised: PromiseState = { pins: new Map(), fence: undefined }
  const { pins } = promised
  const snapshot = store.snapshot.bind(store)
  const fence = store.fence.bind(store)
  const lift = store.lift.bind(store)
  const cutLog = store.cutLog.bind(store)
  const importMutations = store.importMutations.bind(store)
  store.snapshot = () => {
    const taken = snapshot()
    const pin = {}
    pins.set(pin, taken.position.index)
    const close = () => {
      pins.delete(pin)
      return taken.close()
    }
    return { ...taken, close }
  }
  store.fence = async (categories) => {
    await fence(categories)
    const lastIndex = () => (categories.has('local') ? store.lastShippedIndex : store.lastReplicatedIndex)
    promised.fence = { index: lastIndex(), lastIndex }
  }
  store.lift = () => {
    promised.fence = undefined
    lift()
  }
  store.cutLog = () => cutting(pins, cutLog())
  store.importMutations = (...given) => cutting(pins, importMutations(...given))
  return promised
}

/** A cut removes the whole log, with the index of each reader that began before its end. */
const cutting = async (pins: PromiseState['pins'], cut: Promise<void>): Promise<void> => {
  pins.clear()
  await cut.finally(() => pins.clear())
}
