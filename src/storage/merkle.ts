import { SHORT_HASH_BYTES as HASH, shortHash } from '../crypto/digest.js'
import { xorInto } from './leaf.js'
import type { TreeHashes } from './replicable.js'

/**
 * One merkle tree in memory: 65,536 sub-pages, 16 to a group, 16 groups to a page, 256 pages. A sub-page's hash is the
 * XOR of its leaf hashes, so a change costs one XOR; a group is the hash of its 16 sub-pages, a page that of its 16
 * groups, the root that of the 256 pages, each computed when somebody asks and only where something changed.
 */
export const SUB_PAGES = 65_536
export const GROUPS = 4096
export const PAGES = 256
const FAN_OUT = 16
export const SUB_PAGES_PER_PAGE = 256
export const PAGE_BYTES = SUB_PAGES_PER_PAGE * HASH

export const pageOf = (subPage: number): number => subPage >>> 8
const groupOf = (subPage: number): number => subPage >>> 4

export class MerkleTree implements TreeHashes {
  readonly #subPages: Buffer
  readonly #groups: Buffer
  readonly #pages: Buffer
  #root: Buffer | undefined
  readonly #dirtyGroups: Set<number>
  readonly #dirtyPages: Set<number>
  /** Pages that differ from what the last checkpoint wrote. */
  readonly #unsavedPages: Set<number>

  constructor(from?: MerkleTree) {
    this.#subPages = from ? Buffer.from(from.#subPages) : Buffer.alloc(SUB_PAGES * HASH)
    this.#groups = from ? Buffer.from(from.#groups) : Buffer.alloc(GROUPS * HASH, parentOf(Buffer.alloc(SPAN)))
    this.#pages = from ? Buffer.from(from.#pages) : Buffer.alloc(PAGES * HASH, parentOf(this.#groups.subarray(0, SPAN)))
    this.#root = from ? from.#root : undefined
    this.#dirtyGroups = new Set(from ? from.#dirtyGroups : [])
    this.#dirtyPages = new Set(from ? from.#dirtyPages : [])
    this.#unsavedPages = new Set(from ? from.#unsavedPages : [])
  }

  /** What the tree is now, unaffected by later changes. */
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

  setSubPage(subPage: number, hash: Buffer): void {
    hash.copy(this.#subPages, subPage * HASH)
    this.#touch(subPage)
  }

  /** The 256 sub-page hashes of a page, as a checkpoint stores them. */
  pageRecord(page: number): Buffer {
    return this.#subPages.subarray(page * PAGE_BYTES, (page + 1) * PAGE_BYTES)
  }

  /** Takes a page from a checkpoint; it counts as saved. */
  loadPage(page: number, record: Buffer): void {
    record.copy(this.#subPages, page * PAGE_BYTES)
    for (let group = page * FAN_OUT; group < (page + 1) * FAN_OUT; group++) this.#dirtyGroups.add(group)
    this.#dirtyPages.add(page)
    this.#root = undefined
  }

  get unsavedPages(): readonly number[] {
    return [...this.#unsavedPages]
  }

  markSaved(pages: readonly number[]): void {
    for (const page of pages) this.#unsavedPages.delete(page)
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
    this.#dirtyGroups.add(groupOf(subPage))
    this.#dirtyPages.add(pageOf(subPage))
    this.#unsavedPages.add(pageOf(subPage))
    this.#root = undefined
  }

  #settle(): void {
    for (const group of this.#dirtyGroups) hashChildren(this.#subPages, this.#groups, group)
    this.#dirtyGroups.clear()
    for (const page of this.#dirtyPages) hashChildren(this.#groups, this.#pages, page)
    this.#dirtyPages.clear()
  }
}

/** Bytes of the children of one node. */
const SPAN = FAN_OUT * HASH

const parentOf = (children: Buffer): Buffer => shortHash(children)

const hashChildren = (children: Buffer, parents: Buffer, index: number): void => {
  parentOf(children.subarray(index * SPAN, (index + 1) * SPAN)).copy(parents, index * HASH)
}
