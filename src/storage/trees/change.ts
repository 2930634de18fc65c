import { SHORT_HASH_BYTES } from '../../crypto/digest.js'
import type { EngineBatch } from '../engine/engine.js'
import { leafHash, NO_LEAF, subPageOf, xorOf } from './leaf.js'
import { categoryOf, type Tree } from '../keys/key-families.js'
import { dataKey, subPagePrefix } from '../keys/raw-keys.js'
import type { WalOperation } from '../keys/replicable.js'

/** A change of one sub-page of a Merkle tree: the hash of the sub-page is XORed with `delta`. */
export interface SubPageChange {
  readonly tree: Tree
  readonly subPage: number
  readonly delta: Buffer
}

/** The new stored value of a key and the resulting tree change. The value is undefined if the key is deleted. */
export interface Change {
  readonly key: string
  readonly value: Buffer | undefined
  /** The tree change and the new leaf (undefined for a deleted key). Undefined for ignored keys. */
  readonly place: (SubPageChange & { readonly leaf: Buffer | undefined }) | undefined
}

/** Returns the current leaf hash of a key; undefined if the key does not exist. */
export type FindLeaf = (key: string, tree: Tree, subPage: number) => Buffer | undefined

/** Computes the change of a key. `findLeaf` returns the leaf hash of the key before this change. */
export const changeOf = (key: string, value: Buffer | undefined, findLeaf: FindLeaf): Change => {
  const category = categoryOf(key)
  if (category === 'ignored') return { key, value, place: undefined }
  const subPage = subPageOf(key)
  const leaf = value === undefined ? undefined : leafHash(key, value)
  const before = findLeaf(key, category, subPage)
  return { key, value, place: { tree: category, subPage, leaf, delta: deltaOf(before, leaf) } }
}

const deltaOf = (before: Buffer | undefined, after: Buffer | undefined): Buffer => {
  if (before === undefined) return after ?? NO_LEAF
  return after === undefined ? before : xorOf(before, after)
}

export const indexKey = (tree: Tree, subPage: number, key: string): string => subPagePrefix(tree, subPage) + key

/** Adds the data and the leaf of a change to the batch. */
export const putChange = (batch: EngineBatch, { key, value, place }: Change): void => {
  if (value === undefined) batch.delete(dataKey(key))
  else batch.put(dataKey(key), value)
  if (place === undefined) return
  const at = indexKey(place.tree, place.subPage, key)
  if (place.leaf === undefined) batch.delete(at)
  else batch.put(at, place.leaf)
}

/** Returns the log record of a change, or undefined for an ignored key. */
export const operationOf = ({ key, value, place }: Change): WalOperation | undefined =>
  place === undefined ? undefined : { key, category: place.tree, value, delta: place.delta }

/** Estimates the bytes of a change in a batch: the value in data and log, the leaf, and the keys. */
export const changeBytes = ({ key, value }: Change): number =>
  2 * (key.length + (value?.length ?? 0)) + key.length + 4 * SHORT_HASH_BYTES
