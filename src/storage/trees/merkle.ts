import { SHORT_HASH_BYTES as HASH, shortHash } from '../../crypto/digest.js'
import { xorInto } from './leaf.js'
import type { TreeHashes } from '../keys/replicable.js'

/**
 * Number of sub-pages of a `MerkleTree`: 16 sub-pages per group, 16 groups per page, 256 pages. The hash of a sub-page
 * is the XOR of its leaf hashes, so a change costs one XOR. The hash of a group, a page and the root is the hash of its
 * children. It is computed on demand, and only after a change. The sub-pages of a page are allocated with its first
 * key, because a small store uses few pages.
 */
export const SUB_PAGES = 65_536
const GROUPS = 4096
export const PAGES = 256
const FAN_OUT = 16
export const SUB_PAGES_PER_PAGE = 256
export const PAGE_BYTES = SUB_PAGES_PER_PAGE * HASH

/** Bytes of the hashes of the children of a group or a page. */
const SPAN = FAN_OUT * HASH

const parentOf = (children: Buffer): Buffer => shortHash(children)

/** The record of all pages without keys. Must not be changed. */
const EMPTY_PAGE = Buffer.alloc(PAGE_BYTES)
const EMPTY_GROUPS = Buffer.alloc(SPAN, parentOf(Buffer.alloc(SPAN)))
const EMPTY_PAGES = Buffer.alloc(PAGES * HASH, parentOf(EMPTY_GROUPS))

export const pageOf = (subPage: number): number => subPage >>> 8
const groupOf = (subPage: number): number => subPage >>> 4

export class MerkleTree implements TreeHashes {
  /** By page, the sub-page hashes; undefined if the page never had a key. */
  readonly #subPages: (Buffer | undefined)[]
  /** By page, the group hashes; undefined if they were never computed. */
  readonly #groups: (Buffer | undefined)[]
  readonly #pages: Buffer
  #root: Buffer | undefined
  /** 1 for groups and pages (below) whose hash must be recomputed. */
  readonly #dirtyGroups: Uint8Array
  readonly #dirtyPages: Uint8Array
  /** 1 for pages that differ from the last checkpoint. */
  readonly #unsavedPages: Uint8Array

  constructor(from?: MerkleTree) {
    this.#subPages = from ? copyOf(from.#subPages) : []
    this.#groups = from ? copyOf(from.#groups) : []
    this.#pages = Buffer.from(from ? from.#pages : EMPTY_PAGES)
    this.#root = from ? from.#root : undefined
    this.#dirtyGroups = from ? Uint8Array.from(from.#dirtyGroups) : new Uint8Array(GROUPS)
    this.#dirtyPages = from ? Uint8Array.from(from.#dirtyPages) : new Uint8Array(PAGES)
    this.#unsavedPages = from ? Uint8Array.from(from.#unsavedPages) : new Uint8Array(PAGES)
  }

  /** Returns a copy that later changes do not affect. */
  frozen(): MerkleTree {
    return new MerkleTree(this)
  }

  /** XORs the hash of a sub-page with `delta`, the XOR of the old and the new leaf hash of a key. */
  change(subPage: number, delta: Buffer): void {
    xorInto(this.#keptPage(pageOf(subPage)), placeInPage(subPage), delta)
    this.#touch(subPage)
  }

  subPage(subPage: number): Buffer {
    const at = placeInPage(subPage)
    return Buffer.from(this.pageRecord(pageOf(subPage)).subarray(at, at + HASH))
  }

  isZero(subPage: number): boolean {
    const page = this.#subPages[pageOf(subPage)]
    if (!page) return true
    const at = placeInPage(subPage)
    for (let i = at; i < at + HASH; i++) if (page[i] !== 0) return false
    return true
  }

  /** Returns an array with 1 for each nonzero sub-page. Skips pages without keys: a small store has many. */
  usedSubPages(): Uint8Array {
    const used = new Uint8Array(SUB_PAGES)
    for (let page = 0; page < PAGES; page++) {
      if (!this.#subPages[page]) continue
      const first = page * SUB_PAGES_PER_PAGE
      for (let at = first; at < first + SUB_PAGES_PER_PAGE; at++) used[at] = this.isZero(at) ? 0 : 1
    }
    return used
  }

  /** Returns the 256 sub-page hashes of a page, as a checkpoint stores them. The caller must not change them. */
  pageRecord(page: number): Buffer {
    return this.#subPages[page] ?? EMPTY_PAGE
  }

  /** Loads a page from a checkpoint. Groups that do not change are not hashed again. */
  loadPage(page: number, record: Buffer): void {
    for (let group = page * FAN_OUT; group < (page + 1) * FAN_OUT; group++) {
      const at = placeInPage(group * FAN_OUT)
      const after = record.subarray(at, at + SPAN)
      if (
        this.pageRecord(page)
          .subarray(at, at + SPAN)
          .equals(after)
      )
        continue
      after.copy(this.#keptPage(page), at)
      this.#dirtyGroups[group] = 1
      this.#dirtyPages[page] = 1
      this.#root = undefined
    }
  }

  /** Loads the hashes of all sub-pages, computed from the leaves. The next checkpoint writes all pages. */
  loadSubPages(hashes: Buffer): void {
    for (let page = 0; page < PAGES; page++) {
      this.loadPage(page, hashes.subarray(page * PAGE_BYTES, (page + 1) * PAGE_BYTES))
    }
    this.#unsavedPages.fill(1)
  }

  get unsavedPages(): readonly number[] {
    return marked(this.#unsavedPages)
  }

  markSaved(pages: readonly number[]): void {
    for (const page of pages) this.#unsavedPages[page] = 0
  }

  root(): Buffer {
    this.#settle()
    this.#root ??= shortHash(this.#pages)
    return Buffer.from(this.#root)
  }

  pages(): Buffer {
    this.#settle()
    return Buffer.from(this.#pages)
  }

  groups(page: number): Buffer {
    this.#settle()
    return Buffer.from(this.#groups[page] ?? EMPTY_GROUPS)
  }

  subPages(group: number): Buffer {
    return Buffer.from(this.#childrenOf(group))
  }

  /** Returns the sub-page hashes of a group. The caller must not change them. */
  #childrenOf(group: number): Buffer {
    const at = placeInPage(group * FAN_OUT)
    return this.pageRecord(pageOf(group * FAN_OUT)).subarray(at, at + SPAN)
  }

  #keptPage(page: number): Buffer {
    const kept = this.#subPages[page] ?? Buffer.alloc(PAGE_BYTES)
    this.#subPages[page] = kept
    return kept
  }

  #touch(subPage: number): void {
    const page = pageOf(subPage)
    this.#dirtyGroups[groupOf(subPage)] = 1
    this.#dirtyPages[page] = 1
    this.#unsavedPages[page] = 1
    this.#root = undefined
  }

  #settle(): void {
    for (const group of marked(this.#dirtyGroups)) {
      const page = Math.floor(group / FAN_OUT)
      const groups = this.#groups[page] ?? Buffer.from(EMPTY_GROUPS)
      this.#groups[page] = groups
      parentOf(this.#childrenOf(group)).copy(groups, (group % FAN_OUT) * HASH)
    }
    this.#dirtyGroups.fill(0)
    for (const page of marked(this.#dirtyPages)) {
      parentOf(this.#groups[page] ?? EMPTY_GROUPS).copy(this.#pages, page * HASH)
    }
    this.#dirtyPages.fill(0)
  }
}

/** Returns the offset of the hash of a sub-page within its page, in bytes. */
const placeInPage = (subPage: number): number => (subPage % SUB_PAGES_PER_PAGE) * HASH

const copyOf = (pages: readonly (Buffer | undefined)[]): (Buffer | undefined)[] =>
  pages.map((page) => page && Buffer.from(page))

const marked = (marks: Uint8Array): number[] => {
  const found: number[] = []
  for (let at = marks.indexOf(1); at >= 0; at = marks.indexOf(1, at + 1)) found.push(at)
  return found
}
