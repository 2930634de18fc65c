import { LogicalError } from '../../logical/errors.js'
import type { Entry } from '../engine/engine.js'

/** A node as it tells of itself. */
export interface NodeRecord {
  readonly id: string
  readonly hostname: string
  readonly apiAddress: string
  readonly clusterAddress: string
  readonly version: string
  readonly isSealed: boolean
  /** How much of the log its own copy holds. */
  readonly appliedIndex: number
}

/** A node as the others see it. */
export interface AnnouncedNode extends NodeRecord {
  /** When it told this, in milliseconds since the epoch, by its own wall clock. */
  readonly lastEchoMs: number
}

/** Who leads, as everybody may know. */
export interface LeaderRecord {
  readonly nodeId: string
  /** Larger than that of every leader before. */
  readonly term: number
  readonly apiAddress: string
  readonly clusterAddress: string
  /** Milliseconds since the epoch, by the leader's wall clock. */
  readonly activeSinceMs: number
}

export type Candidate = Pick<LeaderRecord, 'nodeId' | 'apiAddress' | 'clusterAddress'>

/** A place in the log: entries are numbered from 1; `hash` is that of the entry, which names the one before it. */
export interface LogPosition {
  readonly index: number
  readonly hash: Buffer
}

/** A batch as the leader has committed it: see `raw-batch.ts`. */
export interface LogEntry {
  readonly index: number
  readonly bytes: Buffer
}

/**
 * Every key of the cluster, as raw keys of an engine. Entries behind `position` may be in it already: who has applied the `rest`
 * has a copy that is whole; before that it is none of any moment. Both are as they were when the image was asked for, however
 * the log has gone on since, and throw `ImageNeeded` once that is forgotten.
 */
export interface LogImage {
  readonly position: LogPosition
  /** The entries behind `position` that there were, in order. */
  rest(): AsyncIterable<LogEntry>
  /** In no order, in chunks. */
  chunks(): AsyncIterable<readonly Entry[]>
}

/**
 * The consensus engine as one node of a cluster sees it: a connection of its own, over which questions wait until they are
 * answered, or until a signal ends them, with whose reason they reject then. Implementations pass one conformance suite.
 */
export interface SharedLog {
  /** The last that is known; undefined while nobody leads. */
  readonly leader: LeaderRecord | undefined
  /** Told of every change of it. Returns the unsubscribe function. */
  onLeader(listener: (leader: LeaderRecord | undefined) => void): () => void
  /** Shows this node to the others for as long as it lives; once more with what has changed, or to say that it is there. */
  announce(node: NodeRecord): Promise<void>
  /** Those that live, in the order of their ids. */
  nodes(): Promise<readonly AnnouncedNode[]>
  /** Resolves when this node leads. Rejects with the signal's reason. */
  campaign(candidate: Candidate, signal: AbortSignal): Promise<Leadership>
  /**
   * Entries behind a position, in order and without a gap, those to come included, until the signal ends it. Throws
   * `ImageNeeded` when the log does not reach back so far, or is not the one that the position is of.
   */
  follow(after: LogPosition, signal: AbortSignal): AsyncIterable<LogEntry>
  /** The index of the last entry, as it is now. */
  lastIndex(signal: AbortSignal): Promise<number>
  /** Whether a copy that has applied so much can be brought up to date from the log. */
  reaches(applied: LogPosition, signal: AbortSignal): Promise<boolean>
  readImage(signal: AbortSignal): Promise<LogImage>
  /**
   * Resolves when what lies beside this node alone holds nothing any more of what was replaced; where nobody leads who could see to
   * that, at once, and it is done later.
   */
  forgetReplaced(signal: AbortSignal): Promise<void>
  /** Gives up what is led and announced, and ends what follows. */
  close(): Promise<void>
}

/** The right of one node to append, for as long as nobody else can have it. */
export interface Leadership {
  readonly term: number
  /** The end of the log: nobody else has appended since it began. */
  readonly end: LogPosition
  /** By this node's own monotonic clock alone; false before the lease can have ended elsewhere. */
  readonly isHeld: boolean
  /** Resolves with why, once it is not held any more. */
  readonly lost: Promise<string>
  /**
   * Appends the entry with this index, the next one. Several may be under way; they resolve in order. Rejects with
   * `LeadershipLost` when nothing was appended, and with `OutcomeUnknown` when nobody can tell; either ends the leadership. With
   * `LogRefused` when the log takes nothing now: the same index is the next one then.
   */
  append(index: number, entry: Buffer): Promise<void>
  /**
   * The data of the cluster is `content` from now on, and nothing of what was before can be read any more: no copy of that is
   * reached by the log, which goes on behind the position this resolves to. Rejects as `append` does.
   */
  replace(content: AsyncIterable<readonly Entry[]>): Promise<LogPosition>
  /** Gives it up when what is under way is answered; another may lead at once. */
  resign(): Promise<void>
}

/** What a node answers whose write was not taken since another node leads, or may. */
const LOST_TEXT = 'this node is not the active node any more, try again'

export class LeadershipLost extends LogicalError {
  constructor(cause?: unknown) {
    super('unavailable', LOST_TEXT, { cause })
  }
}

/** What a closed store answers. A node of a cluster closes its store when it does not lead any more. */
export const storeClosed = ({ isLocal }: { readonly isLocal: boolean }): LogicalError =>
  isLocal ? new LogicalError('unavailable', 'the storage is closed') : new LeadershipLost()

/** The entry may be in the log, or may get there yet, until another leads. */
export class OutcomeUnknown extends LogicalError {
  constructor(cause?: unknown) {
    super('unavailable', `${LOST_TEXT} (outcome unknown)`, { cause })
  }
}

/** The entry is in the log, and nobody knows how much of it this node's own copy holds: that has to be read anew. */
export class NotApplied extends OutcomeUnknown {}

/** The log takes nothing more for now, as when its disk is full; nothing was appended. */
export class LogRefused extends LogicalError {
  constructor(reason: string, cause?: unknown) {
    super('unavailable', `the shared storage takes no more writes: ${reason}`, { cause })
  }
}

/** A copy cannot be brought up to date from the log. */
export class ImageNeeded extends Error {
  override readonly name = 'ImageNeeded'
}
