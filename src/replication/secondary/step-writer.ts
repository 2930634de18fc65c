import type { Tree } from '../../storage/keys/key-families.js'
import type * as Repl from '../../storage/keys/replicable.js'
import type { FetchKeysReply } from '../rpc/messages.js'
import type { SecondaryHooks, SyncProgress } from '../model/types.js'

/** The changes that one step of a sync writes. */
export interface Step {
  readonly mutations: readonly Repl.Mutation[]
  readonly filtered: readonly Repl.FilteredHash[]
}

export interface StepWriterOptions {
  readonly store: Repl.ReplicableStore
  readonly hooks: Pick<SecondaryHooks, 'beforeFiltered'>
  readonly onProgress: (progress: SyncProgress) => void
  /** Size of one import in bytes. It must be large enough that waits for the disk are rare. */
  readonly importBytes: number
}

/** Imports of a copy are smaller, because each batch is prepared while the previous one is written. */
const COPY_PART = 0.5

/** Collects steps into imports. One import is written while the next one is collected. */
export class StepWriter {
  readonly #options: StepWriterOptions
  #mutations: Repl.Mutation[] = []
  #filtered: Repl.FilteredHash[] = []
  #bytes = 0
  #copy: Repl.FirstCopy | undefined
  #writing: Promise<void> = Promise.resolve()
  #failure: unknown
  changes = 0

  constructor(options: StepWriterOptions) {
    this.#options = options
  }

  async add({ mutations, filtered }: Step): Promise<void> {
    if (filtered.length > 0 && mutations.some(({ value }) => value === undefined))
      await this.#options.hooks.beforeFiltered()
    for (const mutation of mutations) {
      this.#mutations.push(mutation)
      this.#bytes += mutation.key.length + (mutation.value?.length ?? 0)
    }
    this.#filtered.push(...filtered)
    this.#bytes += filtered.length * 24
    this.changes += mutations.length + filtered.length
    this.#report()
    if (this.#bytes >= this.#options.importBytes) await this.#write(undefined)
  }

  /** Writes a whole tree of the primary over the few existing keys. Resolves to the existing keys that it replaced. */
  async copy(tree: Tree, replies: AsyncIterable<FetchKeysReply>): Promise<ReadonlySet<string>> {
    this.#copy ??= this.#options.store.firstCopy()
    const copy = this.#copy
    for await (const { entries } of replies) {
      const before = copy.length
      copy.add(tree, entries)
      this.changes += copy.length - before
      this.#report()
      if (copy.bytes >= this.#options.importBytes * COPY_PART) await this.#write(undefined)
    }
    return copy.replaced
  }

  async finish(position: Repl.RemotePosition): Promise<void> {
    await this.#write(position)
    await this.#written()
  }

  /**
   * Drops unwritten changes and waits for the pending import. A late import would invalidate the position of a follower
   * that has already continued.
   */
  async discard(): Promise<void> {
    this.#copy?.discard()
    await this.#writing
  }

  #report(): void {
    const pending = this.#mutations.length + (this.#copy?.length ?? 0)
    this.#options.onProgress({ totalKeys: this.changes, doneKeys: this.changes - pending })
  }

  async #write(position: Repl.RemotePosition | undefined): Promise<void> {
    await this.#written()
    const mutations = this.#mutations
    const filtered = this.#filtered
    this.#mutations = []
    this.#filtered = []
    this.#bytes = 0
    // The next import awaits this promise and throws its failure.
    this.#writing = this.#options.store
      .importMutations(mutations, position, filtered, this.#copy)
      .catch((error: unknown) => {
        this.#failure = error
      })
  }

  async #written(): Promise<void> {
    await this.#writing
    if (this.#failure !== undefined) throw this.#failure
  }
}
