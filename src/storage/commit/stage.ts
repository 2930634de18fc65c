import { type Change, putChange, type SubPageChange } from '../trees/change.js'
import type { EngineBatch } from '../engine/engine.js'
import { encodeFrame, type FrameEntry } from '../log/frame.js'
import type { Commit, Frame, FilteredHash, Mutation, RemotePosition } from '../keys/replicable.js'
import type { Pending } from './overlay.js'
import { walKey } from '../keys/raw-keys.js'
import type { StoreState } from '../state/store-state.js'
import { nextFiltered, putFiltered, type Trees } from '../trees/trees.js'

/** The changes that the writer makes in memory after a batch is written. */
export interface Staged {
  readonly state: StoreState
  readonly changes: Iterable<SubPageChange>
  readonly filtered: readonly FilteredHash[]
  readonly frame?: Frame
  readonly commit?: Commit
  /** If true, this batch and all earlier batches survive a power loss, regardless of the configuration. */
  readonly isDurable?: boolean
  /** Runs after the trees in memory are updated. */
  readonly after?: () => void
}

/** Adds operations to the batch. Returns the resulting changes in memory, or undefined if there is nothing to write. */
export type StageFunction = (batch: EngineBatch, state: StoreState, trees: Trees) => Staged | undefined

/** One transaction as the log stores it. */
export interface LoggedEntry {
  readonly content: FrameEntry
  readonly hasReplicated: boolean
  readonly hasLocal: boolean
}

/** Transactions that are committed together and recorded in the log. */
export interface LoggedUnit {
  readonly joins: 'own' | 'applied'
  readonly bytes: number
  readonly changes: readonly Change[]
  readonly filtered: readonly SubPageChange[]
  readonly pending: readonly Pending[]
  readonly entries: readonly LoggedEntry[]
  readonly remote: RemotePosition | undefined
  /** `index`: the index of the unit's last entry, or the end of the log if the unit has no entries. */
  resolve(index: number): void
  reject(error: unknown): void
}

/** Adds the changes and the log frame of units to a batch. Returns undefined if there is nothing to write. */
export const stageLogged = (
  batch: EngineBatch,
  state: StoreState,
  trees: Trees,
  units: readonly LoggedUnit[],
  nowMs: number,
): Staged | undefined => {
  const entries = units.flatMap((unit) => unit.entries)
  const changes = units.flatMap((unit) => unit.changes)
  const remote = units.findLast((unit) => unit.remote !== undefined)?.remote
  if (entries.length === 0 && changes.length === 0 && remote === undefined) return undefined
  const filteredDeltas = units.flatMap((unit) => unit.filtered)
  const filtered = nextFiltered(trees, filteredDeltas)
  const frame = entries.length === 0 ? undefined : frameOf(state, entries, nowMs)
  for (const change of changes) putChange(batch, change)
  for (const one of filtered) putFiltered(batch, one)
  if (frame !== undefined) batch.put(walKey(frame.lastIndex), frame.bytes)
  const last = frame === undefined ? state.last : { index: frame.lastIndex, hash: frame.hash }
  const inTrees = changes.flatMap(({ place }) => place ?? [])
  return {
    state: { ...state, last, ...lastIndexes(state, entries), remote: remote ?? state.remote },
    changes: filteredDeltas.length === 0 ? inTrees : [...inTrees, ...filteredDeltas],
    filtered: filtered,
    ...(frame === undefined ? {} : { frame }),
    commit: { lastIndex: last.index, mutations: changes, origin: units[0]?.joins ?? 'own' },
  }
}

const frameOf = (state: StoreState, entries: readonly LoggedEntry[], nowMs: number): Frame =>
  encodeFrame(
    {
      firstIndex: state.last.index + 1,
      previousHash: state.last.hash,
      epoch: state.epoch,
      timeMs: nowMs,
      hasReplicated: entries.some((entry) => entry.hasReplicated),
      hasLocal: entries.some((entry) => entry.hasLocal),
    },
    entries.map((entry) => entry.content),
  )

const lastIndexes = (
  state: StoreState,
  entries: readonly LoggedEntry[],
): Pick<StoreState, 'lastReplicatedIndex' | 'lastShippedIndex'> => {
  const replicated = entries.findLastIndex((entry) => entry.hasReplicated)
  return {
    lastReplicatedIndex: replicated < 0 ? state.lastReplicatedIndex : state.last.index + 1 + replicated,
    lastShippedIndex: entries.length === 0 ? state.lastShippedIndex : state.last.index + entries.length,
  }
}

/** Resolves each unit with the index of its last entry. */
export const resolveLogged = (units: readonly LoggedUnit[], before: StoreState, after: StoreState): void => {
  let index = before.last.index
  for (const unit of units) {
    index += unit.entries.length
    unit.resolve(unit.entries.length > 0 ? index : after.last.index)
  }
}

interface ImportRequest {
  readonly changes: readonly Change[]
  readonly filtered: readonly FilteredHash[]
  /** Changes whose data and leaves are already in the batch. */
  readonly copied: Copied
  readonly remote: RemotePosition | undefined
  /** The hash of the position after which the log continues. It is random, so no follower can have it. */
  readonly cutHash: Buffer
}

export interface Copied {
  readonly keys: readonly string[]
  readonly changes: Iterable<SubPageChange>
}

/**
 * Adds data of a resync to a batch. If there is any data, cuts the log: the log continues after a position that no
 * follower can have. The stored Merkle pages are then invalid until the last import of the resync writes them.
 */
export const stageImport = (
  batch: EngineBatch,
  state: StoreState,
  trees: Trees,
  { changes, filtered, copied, remote, cutHash }: ImportRequest,
): Staged => {
  const isCut = changes.length > 0 || filtered.length > 0 || copied.keys.length > 0
  for (const change of changes) putChange(batch, change)
  for (const one of filtered) putFiltered(batch, one)
  const next = isCut ? cutState(state, cutHash) : state
  const others = [...changes.flatMap(({ place }) => place ?? []), ...filtered.map((one) => trees.filteredDelta(one))]
  const inTrees = copied.keys.length > 0 ? chain(copied.changes, others) : others
  const saved = remote === undefined ? undefined : trees.putCheckpoint(batch, [...inTrees])
  const mutations = copied.keys.length > 0 ? chain(mutationsOf(copied.keys), changes) : changes
  return {
    state: remote === undefined ? next : { ...next, checkpoint: next.last.index, remote, isResyncing: false },
    changes: inTrees,
    filtered: filtered,
    commit: { lastIndex: next.last.index, mutations, origin: 'resynced' },
    ...(saved === undefined ? {} : { after: saved }),
  }
}

export const stageState = (state: StoreState): Staged => ({ state, changes: [], filtered: [] })

/** Cuts the log without a change of data: all frames are removed. The remote position and the trees stay. */
export const stageCut = (batch: EngineBatch, state: StoreState, trees: Trees, cutHash: Buffer): Staged => {
  const { isResyncing, remote } = state
  const next = cutState(state, cutHash)
  const saved = isResyncing ? undefined : trees.putCheckpoint(batch)
  return {
    ...stageState({ ...next, checkpoint: saved && next.last.index, remote, isResyncing }),
    ...(saved && { after: saved }),
  }
}

/** Returns the keys as mutations. The objects are created on iteration, so they do not stay in memory. */
export const mutationsOf = (keys: readonly string[]): Iterable<Pick<Mutation, 'key'>> => ({
  *[Symbol.iterator]() {
    for (const key of keys) yield { key }
  },
})

/** Concatenates two iterables. Unlike a generator, the result can be iterated more than once. */
export const chain = <T>(first: Iterable<T>, second: Iterable<T>): Iterable<T> => ({
  *[Symbol.iterator]() {
    yield* first
    yield* second
  },
})

/**
 * Returns the state after a cut of the log. The log continues after a position that no follower can have. The stored
 * Merkle pages are invalid.
 */
const cutState = (state: StoreState, hash: Buffer): StoreState => {
  const base = { index: state.last.index + 1, hash }
  return {
    ...state,
    base,
    last: base,
    lastReplicatedIndex: base.index,
    lastShippedIndex: base.index,
    checkpoint: undefined,
    remote: undefined,
    isResyncing: true,
  }
}
