import type { Tree } from '../../storage/keys/key-families.js'
import type * as Repl from '../../storage/keys/replicable.js'
import type { FetchKeysReply } from '../rpc/messages.js'
import type { SecondaryHooks, SyncProgress } from '../model/types.js'

/** The changes of one step of a resync. */
export interface Step {
  readonly mutations: readonly Repl.Mutation[]
  readonly filtered: readonly Repl.FilteredHash[]
}

export interface StepWriterOptions {
  readonly store: Repl.ReplicableStore
  readonly hooks: Pick<SecondaryHooks, 'beforeFiltered'>
  readonly onProgress: (progress: SyncProgress) => void
  /** Bytes of one import. It must be large enough that waits for the disk are rare. */
  readonly importBytes: number
}

/**
 * Size of the imports of a copy, relative to `importBytes`. It is smaller, because a batch is prepared while the
 * previous one is written.
 */
const COPY_PART = 0.5

/** Combines steps into imports. Writes one import while the next one is combined. */
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

  /** Copies a whole tree of the primary. Resolves to the keys that existed before and were replaced. */
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
   * Drops unwritten changes and waits for the import that is being written. Otherwise, this import could be written
   * after the next connection has continued from the current position.
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
    // The next import awaits this promise and rejects with its failure.
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
