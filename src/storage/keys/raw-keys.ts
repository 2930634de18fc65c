import type { Tree } from './key-families.js'

/**
 * Layout of the engine's key space. The first letter is the record type:
 *
 * - `d` + storage key: data, the stored value of a key
 * - `w` + 14 hex digits, the last index of a frame: the write-ahead log
 * - `i` + tree + 4 hex digits of the sub-page + storage key: the leaf hash of the key, 20 bytes
 * - `h` + tree + 4 hex digits: the filtered hash of a sub-page, 20 bytes
 * - `m` + tree + 2 hex digits: the sub-page hashes of a page as of the last checkpoint, 5,120 bytes
 * - `s` + name: the store's own state
 *
 * A tree is the letter `r` (replicated) or `l` (local).
 */

export const STATE_KEY = 'sstate'
/** The applied position of the shared log; absent on a standalone node. */
export const APPLIED_KEY = 'sapplied'
export const DATA_PREFIX = 'd'
export const WAL_PREFIX = 'w'
export const LEAF_PREFIX = 'i'

const TREE_LETTER: Record<Tree, string> = { replicated: 'r', local: 'l' }
const hex = (value: number, digits: number): string => value.toString(16).padStart(digits, '0')

export const dataKey = (key: string): string => DATA_PREFIX + key
export const walKey = (lastIndex: number): string => WAL_PREFIX + hex(lastIndex, 14)
export const walIndexOf = (rawKey: string): number => Number.parseInt(rawKey.slice(1), 16)

export const leafPrefix = (tree: Tree): string => LEAF_PREFIX + TREE_LETTER[tree]
export const subPagePrefix = (tree: Tree, subPage: number): string => leafPrefix(tree) + hex(subPage, 4)
export const LEAF_KEY_START = 6

export const filteredPrefix = (tree: Tree): string => `h${TREE_LETTER[tree]}`
export const filteredKey = (tree: Tree, subPage: number): string => filteredPrefix(tree) + hex(subPage, 4)

export const pagePrefix = (tree: Tree): string => `m${TREE_LETTER[tree]}`
export const pageKey = (tree: Tree, page: number): string => pagePrefix(tree) + hex(page, 2)
