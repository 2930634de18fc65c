import { SHORT_HASH_BYTES as HASH } from '../../crypto/digest.js'
import { NO_LEAF } from '../../storage/trees/leaf.js'
import { Packer } from '../../storage/sync/packed.js'
import type { CallerSubPage, FetchKeysReply, FilteredSubPageMessage } from '../rpc/messages.js'

/** Roughly what one reply holds; large enough for few round trips, small enough to push back finely. */
const REPLY_BYTES = 256 * 1024

/** In what a sub-page of a caller is another than here. */
export interface Difference {
  readonly missing: readonly string[]
  readonly unknown: readonly Buffer[]
  /** 20 bytes; all zero when nothing is filtered. */
  readonly filtered: Buffer
}

/** Gathers entries into replies of bounded size. */
export class ReplyBuilder {
  readonly #entries = new Packer(REPLY_BYTES)
  #unknown: CallerSubPage[] = []
  #filtered: FilteredSubPageMessage[] = []
  #unknownBytes = 0

  /** True when the reply is full. */
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
