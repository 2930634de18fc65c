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
  /** Time of the announcement in Unix milliseconds, by the wall clock of the node. */
  readonly lastEchoMs: number
}

/** The record of the current leader, which all nodes can read. */
export interface LeaderRecord {
  readonly nodeId: string
  /** Number of the leadership, greater than the term of every earlier leader. */
  readonly term: number
  readonly apiAddress: string
  readonly clusterAddress: string
  /** Start of the leadership in Unix milliseconds, by the wall clock of the leader. */
  readonly activeSinceMs: number
}

export type Candidate = Pick<LeaderRecord, 'nodeId' | 'apiAddress' | 'clusterAddress'>

/**
 * A position in the shared log. Entries are numbered from 1. `hash` is the hash of the entry at `index`. The hash of an
 * entry covers the hash of the previous entry.
 */
export interface LogPosition {
  readonly index: number
  readonly hash: Buffer
}

/** A batch that the leader has committed, encoded as in `raw-batch.ts`. */
export interface LogEntry {
  readonly index: number
  readonly bytes: Buffer
}

/**
 * All keys of the cluster, as raw keys of an engine. The image may already contain changes of entries after `position`,
 * so it is consistent only after the entries of `rest` are applied. `chunks` and `rest` return the state at the time of
 * `readImage`. They throw `ImageNeeded` if this state is compacted meanwhile.
 */
export interface LogImage {
  readonly position: LogPosition
  /** Returns the entries after `position` in order, up to the end of the log at the time of `readImage`. */
  rest(): AsyncIterable<LogEntry>
  /** Returns the keys and values in chunks, in any order. */
  chunks(): AsyncIterable<readonly Entry[]>
}

/**
 * The shared log and the leader election of a cluster, as one node uses them over its own connection. If a signal
 * aborts a call, the call rejects with the signal's reason. All implementations pass the same conformance suite.
 */
export interface SharedLog {
  /** The leader that this node knows; undefined if there is none. */
  readonly leader: LeaderRecord | undefined
  /** Calls the listener when the leader changes. Returns the unsubscribe function. */
  onLeader(listener: (leader: LeaderRecord | undefined) => void): () => void
  /** Publishes the record of this node until `close`, or until the node fails. A further call updates the record. */
  announce(node: NodeRecord): Promise<void>
  /** Resolves to the records of the live nodes. */
  nodes(): Promise<readonly AnnouncedNode[]>
  /** Waits until this node is the leader. Rejects with the signal's reason. */
  campaign(candidate: Candidate, signal: AbortSignal): Promise<Leadership>
  /**
   * Returns existing and future entries after a position, in order and without gaps, until the signal is aborted.
   * Throws `ImageNeeded` if the log no longer has the next entry, or if the position belongs to replaced data.
   */
  follow(after: LogPosition, signal: AbortSignal): AsyncIterable<LogEntry>
  /** Resolves to the index of the last entry. */
  lastIndex(signal: AbortSignal): Promise<number>
  /** Resolves to true if the log has all entries after this applied position, so that a copy can catch up. */
  reaches(applied: LogPosition, signal: AbortSignal): Promise<boolean>
  readImage(signal: AbortSignal): Promise<LogImage>
  /**
   * Waits until the files of this node's own etcd member no longer contain replaced data. If there is no leader to
   * delete the data, or the wait takes too long, resolves and continues in the background.
   */
  forgetReplaced(signal: AbortSignal): Promise<void>
  /** Resigns the leadership, withdraws the announcement and ends all calls of `follow`. */
  close(): Promise<void>
}

/** The exclusive right of one node to append to the shared log. */
export interface Leadership {
  readonly term: number
  /** The end of the log. Only this node has appended entries since this leadership began. */
  readonly end: LogPosition
  /**
   * True while this node holds the lease by its own clock. Becomes false before another node can lead. Becomes true
   * again if a late renewal resumes the leadership: no other node has led then.
   */
  readonly isHeld: boolean
  /** True after this node has lost or resigned the leadership. */
  readonly isOver: boolean
  /** Calls the listener each time a late renewal resumes the leadership. Returns the unsubscribe function. */
  readonly onResumed: (listener: () => void) => () => void
  /** Resolves to the reason when the leadership is lost. */
  readonly lost: Promise<string>
  /**
   * Appends an entry. `index` must be the next index. Several appends may be pending, and resolve in order. Rejects
   * with `LeadershipLost` if nothing was appended, or with `OutcomeUnknown` if the outcome is unknown. Both errors end
   * the leadership. Rejects with `LogRefused` if the log accepts no entries now. The next append must then use the same
   * index.
   */
  append(index: number, entry: Buffer): Promise<void>
  /**
   * Replaces the data of the cluster with `content`. Nodes can no longer read the old data, and copies of the old data
   * cannot catch up. Resolves to the position after which the log continues. Rejects like `append`.
   */
  replace(content: AsyncIterable<readonly Entry[]>): Promise<LogPosition>
  /** Resigns the leadership after all pending appends have completed. Another node can then lead immediately. */
  resign(): Promise<void>
}

/** Error text for a write that fails because another node is the leader, or may be the leader. */
const LOST_TEXT = 'this node is no longer the active node, try again'

/** The error of a write that was not executed because this node has lost the leadership. */
export class LeadershipLost extends LogicalError {
  constructor(cause?: unknown) {
    super('unavailable', LOST_TEXT, { cause })
  }
}

/** Returns the error of a closed store. A node of a multi-node cluster closes its store when it stops leading. */
export const storeClosed = ({ isLocal }: { readonly isLocal: boolean }): LogicalError =>
  isLocal ? new LogicalError('unavailable', 'the storage is closed') : new LeadershipLost()

/**
 * The error of an append without a response. The entry may be in the log, or may still be appended until another node
 * becomes the leader.
 */
export class OutcomeUnknown extends LogicalError {
  constructor(cause?: unknown) {
    super('unavailable', `${LOST_TEXT} (outcome unknown)`, { cause })
  }
}

/** The error of a commit whose entry is in the log, but may be missing in the engine, which must be reopened. */
export class NotApplied extends OutcomeUnknown {}

/** The error of an append that the log refused, for example because etcd is full. Nothing was appended. */
export class LogRefused extends LogicalError {
  constructor(reason: string, cause?: unknown) {
    super('unavailable', `the shared storage rejects writes: ${reason}`, { cause })
  }
}

/** The error if the log lacks entries that a copy needs. The copy must be replaced by the image. */
export class ImageNeeded extends Error {
  override readonly name = 'ImageNeeded'
}
