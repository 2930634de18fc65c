import { LogicalError } from '../../logical/errors.js'
import type { Entry } from '../engine/engine.js'

/** The record that a node announces about itself. */
export interface NodeRecord {
  readonly id: string
  readonly hostname: string
  readonly apiAddress: string
  readonly clusterAddress: string
  readonly version: string
  readonly isSealed: boolean
  /** The log index that the node has applied. */
  readonly appliedIndex: number
}

/** A node as the other nodes see it. */
export interface AnnouncedNode extends NodeRecord {
  /** The node's own wall-clock time of the announcement, in milliseconds since the epoch. */
  readonly lastEchoMs: number
}

/** The current leader, as announced to all nodes. */
export interface LeaderRecord {
  readonly nodeId: string
  /** Larger than the term of every earlier leader. */
  readonly term: number
  readonly apiAddress: string
  readonly clusterAddress: string
  /** Milliseconds since the epoch, by the leader's wall clock. */
  readonly activeSinceMs: number
}

export type Candidate = Pick<LeaderRecord, 'nodeId' | 'apiAddress' | 'clusterAddress'>

/**
 * A position in the log. Entries are numbered from 1; `hash` is the hash of the entry, which includes the previous
 * hash.
 */
export interface LogPosition {
  readonly index: number
  readonly hash: Buffer
}

/** A batch that the leader has committed: see `raw-batch.ts`. */
export interface LogEntry {
  readonly index: number
  readonly bytes: Buffer
}

/**
 * All keys of the cluster, as raw keys of an engine. The image may already contain entries after `position`: it is
 * consistent only after `rest` is applied. `chunks` and `rest` show the state at the time of the request, even if the
 * log continues. They throw `ImageNeeded` once that state is compacted.
 */
export interface LogImage {
  readonly position: LogPosition
  /** Returns the entries after `position` at the time of the request, in order. */
  rest(): AsyncIterable<LogEntry>
  /** Returns the keys in chunks, in no order. */
  chunks(): AsyncIterable<readonly Entry[]>
}

/**
 * The consensus engine as one node of a cluster sees it, over the node's own connection. Calls wait for a response. If
 * a signal ends a call, it rejects with the signal's reason. All implementations pass one conformance suite.
 */
export interface SharedLog {
  /** The last known leader; undefined if there is none. */
  readonly leader: LeaderRecord | undefined
  /** Calls the listener whenever the leader changes. Returns the unsubscribe function. */
  onLeader(listener: (leader: LeaderRecord | undefined) => void): () => void
  /** Publishes this node's record for as long as the node lives. Call again to update the record or its timestamp. */
  announce(node: NodeRecord): Promise<void>
  /** Returns the live nodes, sorted by ID. */
  nodes(): Promise<readonly AnnouncedNode[]>
  /** Resolves when this node is the leader. Rejects with the signal's reason. */
  campaign(candidate: Candidate, signal: AbortSignal): Promise<Leadership>
  /**
   * Returns existing and future entries after a position, in order without gaps, until the signal is aborted. Throws
   * `ImageNeeded` if the log no longer has the next entry, or if the position belongs to another log.
   */
  follow(after: LogPosition, signal: AbortSignal): AsyncIterable<LogEntry>
  /** Resolves to the current index of the last entry. */
  lastIndex(signal: AbortSignal): Promise<number>
  /** Checks whether the log can bring a copy with this applied position up to date. */
  reaches(applied: LogPosition, signal: AbortSignal): Promise<boolean>
  readImage(signal: AbortSignal): Promise<LogImage>
  /**
   * Resolves when the files of this node's own member no longer contain replaced data. If there is no leader to delete
   * that data, resolves at once, and the deletion happens later.
   */
  forgetReplaced(signal: AbortSignal): Promise<void>
  /** Resigns the leadership, withdraws the announcement and ends all `follow` calls. */
  close(): Promise<void>
}

/** The exclusive right of one node to append. */
export interface Leadership {
  readonly term: number
  /** The end of the log. No other node has appended since this leadership began. */
  readonly end: LogPosition
  /**
   * True while this node holds the lease by its own monotonic clock. Becomes false before the lease can expire
   * elsewhere.
   */
  readonly isHeld: boolean
  /** Resolves with the reason when the leadership is lost. */
  readonly lost: Promise<string>
  /**
   * Appends the entry with this index, which must be the next one. Several appends may be pending; they resolve in
   * order. Rejects with `LeadershipLost` if nothing was appended, or with `OutcomeUnknown` if the result is unknown;
   * both end the leadership. Rejects with `LogRefused` if the log accepts no entries now; the next append then reuses
   * the same index.
   */
  append(index: number, entry: Buffer): Promise<void>
  /**
   * Replaces the data of the cluster with `content`. The old data can no longer be read, and the log cannot bring
   * copies of it up to date. Resolves to the position after which the log continues. Rejects like `append`.
   */
  replace(content: AsyncIterable<readonly Entry[]>): Promise<LogPosition>
  /** Resigns after all pending appends have completed. Another node can then become the leader at once. */
  resign(): Promise<void>
}

/** Error text for a write that was rejected because another node is, or may be, the leader. */
const LOST_TEXT = 'this node is no longer the active node, try again'

export class LeadershipLost extends LogicalError {
  constructor(cause?: unknown) {
    super('unavailable', LOST_TEXT, { cause })
  }
}

/** Returns the error of a closed store. A node of a cluster closes its store when it loses the leadership. */
export const storeClosed = ({ isLocal }: { readonly isLocal: boolean }): LogicalError =>
  isLocal ? new LogicalError('unavailable', 'the storage is closed') : new LeadershipLost()

/** The entry may be in the log. Until another node becomes the leader, it may also still be appended. */
export class OutcomeUnknown extends LogicalError {
  constructor(cause?: unknown) {
    super('unavailable', `${LOST_TEXT} (outcome unknown)`, { cause })
  }
}

/** The entry is in the log, but this node's copy may have applied only part of it and must be read again. */
export class NotApplied extends OutcomeUnknown {}

/** The log accepts no entries now, for example because its disk is full. Nothing was appended. */
export class LogRefused extends LogicalError {
  constructor(reason: string, cause?: unknown) {
    super('unavailable', `the shared storage rejects writes: ${reason}`, { cause })
  }
}

/** The log cannot bring a copy up to date. */
export class ImageNeeded extends Error {
  override readonly name = 'ImageNeeded'
}
