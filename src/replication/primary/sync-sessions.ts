import { LIMITS } from '../../base/limits.js'
import { SHORT_HASH_BYTES as HASH } from '../../crypto/digest.js'
import { differingHashes, NO_LEAF, xorInto } from '../../storage/trees/leaf.js'
import type { Tree } from '../../storage/keys/key-families.js'
import type { ReplicableStore, SubPageKeys, SyncSnapshot } from '../../storage/keys/replicable.js'
import type { CallerSubPage, ConflictingPagesReply, FetchKeysReply, FilteredSubPageMessage } from '../rpc/messages.js'
import { refusalError } from '../rpc/refusal.js'
import type { KeyFilter } from '../model/types.js'
import type { Audience } from './filter-frame.js'
import { Packer } from '../../storage/sync/packed.js'

const PAGES = 256
const GROUPS_PER_PAGE = 16
/** A frozen view of the primary's data, with which one secondary compares its data. Ends with the stream. */
export class SyncSession {
  readonly id: string
  readonly commonName: string
  readonly snapshot: SyncSnapshot
  readonly #audience: Audience

  constructor(id: string, commonName: string, snapshot: SyncSnapshot, audience: Audience) {
    this.id = id
    this.commonName = commonName
    this.snapshot = snapshot
    this.#audience = audience
  }

  /**
   * Returns the pages that differ from the caller's 256 page hashes (`pages`), with the group hashes of each. Throws a
   * refusal for another number of hashes.
   */
  conflictingPages(tree: Tree, pages: Buffer): Omit<ConflictingPagesReply, 'who'> {
    this.#check(tree)
    if (pages.length !== PAGES * HASH) throw refusalError('failed', 'the request must contain 256 page hashes')
    const conflicting = differingHashes(this.snapshot.trees[tree].pages(), pages, PAGES)
    const groups = conflicting.map((page) => this.snapshot.trees[tree].groups(page))
    return { pages: conflicting, groups: Buffer.concat(groups) }
  }

  subPageHashes(tree: Tree, groups: readonly number[]): Buffer {
    this.#check(tree)
    if (groups.length > PAGES * GROUPS_PER_PAGE)
      throw refusalError('failed', 'the request must contain at most 4096 groups')
    return Buffer.concat(groups.map((group) => this.snapshot.trees[tree].subPages(group)))
  }

  /** Yields all keys of a tree. Throws a refusal if a filter withholds some of them. */
  async *fetchTree(tree: Tree): AsyncGenerator<FetchKeysReply> {
    this.#check(tree)
    if (tree === 'replicated' && this.#audience.filter)
      throw refusalError('failed', 'a path filter applies, so the tree cannot be copied as a whole')
    const reply = new ReplyBuilder()
    for await (const chunk of this.snapshot.scan(tree)) {
      for (const { key, value } of chunk) if (reply.add(key, value)) yield reply.take()
    }
    yield reply.take()
  }

  /**
   * Yields the differences of the requested sub-pages:
   * - the keys and values that the caller lacks
   * - the caller's leaves that do not exist on this primary
   * - the hashes of the filtered keys
   */
  async *fetchSubPages(tree: Tree, asked: readonly CallerSubPage[]): AsyncGenerator<FetchKeysReply> {
    this.#check(tree)
    const filter = tree === 'replicated' ? this.#audience.filter : undefined
    const reply = new ReplyBuilder()
    const own = await this.snapshot.leaves(
      tree,
      asked.map((row) => row.sub_page),
    )
    const bySubPage = new Map(own.map((row) => [row.subPage, row]))
    for (const row of asked) {
      const difference = compare(row, bySubPage.get(row.sub_page), filter)
      reply.addDifference(row.sub_page, difference)
      for (const key of difference.missing) {
        const value = this.snapshot.get(key)
        if (value === undefined) throw new Error('the snapshot has a leaf without a value')
        if (reply.add(key, value)) yield reply.take()
      }
    }
    yield reply.take()
  }

  #check(tree: Tree): void {
    if (tree === 'local' && this.#audience.kind !== 'dr')
      throw refusalError('failed', 'local keys are not sent to this secondary')
  }
}

const compare = (asked: CallerSubPage, own: SubPageKeys | undefined, filter: KeyFilter | undefined): Difference => {
  const theirs = new Map<string, Buffer>()
  for (let at = 0; at < asked.leaves.length; at += HASH) {
    const leaf = asked.leaves.subarray(at, at + HASH)
    theirs.set(leaf.toString('latin1'), leaf)
  }
  const filtered = Buffer.from(own?.filtered ?? NO_LEAF)
  const missing: string[] = []
  for (const { key, leaf } of own?.leaves ?? []) {
    if (filter && !filter.shows(key)) xorInto(filtered, 0, leaf)
    else if (!theirs.delete(leaf.toString('latin1'))) missing.push(key)
  }
  return { missing, unknown: [...theirs.values()], filtered: filtered }
}

/** The open sessions of a primary. Their number is limited, because each pins a snapshot and the log after it. */
export class SyncSessions {
  readonly #sessions = new Map<string, SyncSession>()
  readonly #store: ReplicableStore
  #opened = 0

  constructor(store: ReplicableStore) {
    this.#store = store
  }

  /**
   * Opens a session. Throws a refusal (`unavailable`) if too many secondaries sync at the same time. The secondary
   * retries.
   */
  open(commonName: string, audience: Audience): SyncSession {
    if (this.#sessions.size >= LIMITS.syncSessionsMax) {
      throw refusalError('unavailable', `${LIMITS.syncSessionsMax} secondaries are syncing; try again later`)
    }
    const id = String(++this.#opened)
    const session = new SyncSession(id, commonName, this.#store.snapshot(), audience)
    this.#sessions.set(id, session)
    return session
  }

  /** Returns a session of this caller. Throws a refusal (`unavailable`) if there is none with this ID. */
  find(id: string, commonName: string): SyncSession {
    const session = this.#sessions.get(id)
    if (!session || session.commonName !== commonName)
      throw refusalError('unavailable', 'the sync session does not exist or has ended')
    return session
  }

  async close(session: SyncSession): Promise<void> {
    if (this.#sessions.delete(session.id)) await session.snapshot.close()
  }
}

/** Approximate bytes of one reply: large enough for few round trips, small enough for fine-grained flow control. */
const REPLY_BYTES = 256 * 1024

/**
 * The differences between a sub-page of the caller and this primary: keys that the caller lacks, unknown leaves of the
 * caller, and the filtered hash.
 */
interface Difference {
  readonly missing: readonly string[]
  readonly unknown: readonly Buffer[]
  /** 20 bytes; zero if nothing is filtered. */
  readonly filtered: Buffer
}

/** Collects entries into replies of limited size. */
class ReplyBuilder {
  readonly #entries = new Packer(REPLY_BYTES)
  #unknown: CallerSubPage[] = []
  #filtered: FilteredSubPageMessage[] = []
  #unknownBytes = 0

  /** Adds an entry. Returns true if the reply is full. */
  add(key: string, value: Buffer): boolean {
    this.#entries.add(key, value)
    return this.#entries.bytes + this.#unknownBytes >= REPLY_BYTES
  }

  addDifference(subPage: number, difference: Difference): void {
    if (difference.unknown.length > 0) {
      this.#unknown.push({ sub_page: subPage, leaves: Buffer.concat(difference.unknown) })
      this.#unknownBytes += difference.unknown.length * HASH
    }
    if (!difference.filtered.equals(NO_LEAF)) this.#filtered.push({ sub_page: subPage, hash: difference.filtered })
  }

  take(): FetchKeysReply {
    const reply = { entries: this.#entries.take(), unknown: this.#unknown, filtered: this.#filtered }
    this.#unknown = []
    this.#filtered = []
    this.#unknownBytes = 0
    return reply
  }
}
