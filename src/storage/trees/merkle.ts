import { SHORT_HASH_BYTES as HASH, shortHash } from '../../crypto/digest.js'
import { xorInto } from './leaf.js'
import type { TreeHashes } from '../replicable.js'

/**
 * One merkle tree in memory: 65,536 sub-pages, 16 to a group, 16 groups to a page, 256 pages. A sub-page's hash is the
 * XOR of its leaf hashes, so a change costs one XOR; a group is the hash of its 16 sub-pages, a page that of its 16
 * groups, the root that of the 256 pages, each computed when somebody asks and only where something changed.
 */
export const SUB_PAGES = 65_536
const GROUPS = 4096
export const PAGES = 256
const FAN_OUT = 16
export const SUB_PAGES_PER_PAGE = 256
export const PAGE_BYTES = SUB_PAGES_PER_PAGE * HASH
const EMPTY_PAGE = Buffer.alloc(PAGE_BYTES)

export const pageOf = (subPage: number): number => subPage >>> 8
const groupOf = (subPage: number): number => subPage >>> 4

export class MerkleTree implements TreeHashes {
  readonly #subPages: Buffer
  readonly #groups: Buffer
  readonly #pages: Buffer
  #root: Buffer | undefined
  /** Groups and pages whose hash is to be computed anew: 1. */
  readonly #dirtyGroups: Uint8Array
  readonly #dirtyPages: Uint8Array
  /** Pages that differ from what the last checkpoint wrote: 1. */
  readonly #unsavedPages: Uint8Array

  constructor(from?: MerkleTree) {
    this.#subPages = from ? Buffer.from(from.#subPages) : Buffer.alloc(SUB_PAGES * HASH)
    this.#groups = from ? Buffer.from(from.#groups) : Buffer.alloc(GROUPS * HASH, parentOf(Buffer.alloc(SPAN)))
    this.#pages = from ? Buffer.from(from.#pages) : Buffer.alloc(PAGES * HASH, parentOf(this.#groups.subarray(0, SPAN)))
    this.#root = from ? from.#root : undefined
    this.#dirtyGroups = from ? Uint8Array.from(from.#dirtyGroups) : new Uint8Array(GROUPS)
    this.#dirtyPages = from ? Uint8Array.from(from.#dirtyPages) : new Uint8Array(PAGES)
    this.#unsavedPages = from ? Uint8Array.from(from.#unsavedPages) : new Uint8Array(PAGES)
  }

  /** A copy that later changes do not affect. */
  frozen(): MerkleTree {
    return new MerkleTree(this)
  }

  /** Changes a sub-page by the XOR of a key's old and new leaf hash. */
  change(subPage: number, delta: Buffer): void {
    xorInto(this.#subPages, subPage * HASH, delta)
    this.#touch(subPage)
  }

  subPage(subPage: number): Buffer {
    return Buffer.from(this.#subPages.subarray(subPage * HASH, (subPage + 1) * HASH))
  }

  isZero(subPage: number): boolean {
    const at = subPage * HASH
    for (let i = at; i < at + HASH; i++) if (this.#subPages[i] !== 0) return false
    return true
  }

  /** 1 for each sub-page that is not zero. Pages that are zero, most of a small store, are passed over whole. */
  usedSubPages(): Uint8Array {
    const used = new Uint8Array(SUB_PAGES)
    for (let page = 0; page < PAGES; page++) {
      if (this.pageRecord(page).equals(EMPTY_PAGE)) continue
      const first = page * SUB_PAGES_PER_PAGE
      for (let at = first; at < first + SUB_PAGES_PER_PAGE; at++) used[at] = this.isZero(at) ? 0 : 1
    }
    return used
  }

  /** The 256 sub-page hashes of a page, as a checkpoint stores them. */
  pageRecord(page: number): Buffer {
    return this.#subPages.subarray(page * PAGE_BYTES, (page + 1) * PAGE_BYTES)
  }

  /** Takes a page from a checkpoint; it counts as saved. Groups that stay as they are, most of a small store, are not hashed. */
  loadPage(page: number, record: Buffer): void {
    for (let group = page * FAN_OUT; group < (page + 1) * FAN_OUT; group++) {
      const before = this.#subPages.subarray(group * SPAN, (group + 1) * SPAN)
      const at = group * SPAN - page * PAGE_BYTES
      const after = record.subarray(at, at + SPAN)
      if (before.equals(after)) continue
      after.copy(before)
      this.#dirtyGroups[group] = 1
      this.#dirtyPages[page] = 1
      this.#root = undefined
    }
  }

  /** Takes the hashes of all sub-pages, computed from the leaves: whatever a checkpoint has of them is to be written anew. */
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
    return Buffer.from(this.#groups.subarray(page * FAN_OUT * HASH, (page + 1) * FAN_OUT * HASH))
  }

  subPages(group: number): Buffer {
    return Buffer.from(this.#subPages.subarray(group * FAN_OUT * HASH, (group + 1) * FAN_OUT * HASH))
  }

  #touch(subPage: number): void {
    const page = pageOf(subPage)
    this.#dirtyGroups[groupOf(subPage)] = 1
    this.#dirtyPages[page] = 1
    this.#unsavedPages[page] = 1
    this.#root = undefined
  }

  #settle(): void {
    for (const group of marked(this.#dirtyGroups)) hashChildren(this.#subPages, this.#groups, group)
    this.#dirtyGroups.fill(0)
    for (const page of marked(this.#dirtyPages)) hashChildren(this.#groups, this.#pages, page)
    this.#dirtyPages.fill(0)
  }
}

const marked = (marks: Uint8Array): number[] => {
  const found: number[] = []
  for (let at = marks.indexOf(1); at >= 0; at = marks.indexOf(1, at + 1)) found.push(at)
  return found
}

/** Bytes of the children of one node. */
const SPAN = FAN_OUT * HASH

const parentOf = (children: Buffer): Buffer => shortHash(children)

const hashChildren = (children: Buffer, parents: Buffer, index: number): void => {
  parentOf(children.subarray(index * SPAN, (index + 1) * SPAN)).copy(parents, index * HASH)
}
