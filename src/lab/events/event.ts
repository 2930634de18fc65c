import { attempt } from '../../base/attempt.js'

const EVENT_KINDS = [
  /** The lab is up, or is stopping. */
  'lab-up',
  'lab-down',
  /** The lab daemon has started. Changes since the previous event of the lab were not recorded. */
  'daemon-started',
  /**
   * A command that changes the lab. Details: `verb` and its arguments, and `position` of a DR primary that it takes
   * down.
   */
  'command',
  /** A write request to a cluster. `command` is the equivalent shell command without secrets. */
  'call',
  /** Details: the fault, as in `fault ls --json`. */
  'fault-set',
  'fault-healed',
  'fault-expired',
  /** Details: `from`, `to`: running, silent (accepts connections but does not respond) or stopped. */
  'process',
  /** Details: `from`, `to`: uninitialized, sealed or unsealed. */
  'seal',
  /** A role change of the node that `cluster` names. Details: `from`, `to`: active or standby. */
  'node',
  /** Details: `replication` (dr or performance), and the modes `from` and `to`. */
  'role',
  /** Details: `replication`, and the states `from` and `to` of a secondary, such as `stream-wals, ready`. */
  'replication',
  /** A step of a drill. Details: the step and its phase. */
  'drill',
  /** Any other message. Details: `text`. */
  'note',
] as const

/**
 * Kinds of events in a lab:
 * - `command`, `call`: actions of an operator
 * - `fault-...`: actions of the lab
 * - `process`, `seal`, `node`, `role`, `replication`: observed changes of the clusters
 *
 * @example
 * import { type EventKind, startLab } from 'understudy-lab'
 *
 * const wanted: ReadonlySet<EventKind> = new Set(['role', 'seal'])
 * await using lab = await startLab('dr')
 * const seen = (async () => {
 *   for await (const { kind, cluster } of lab.events) if (wanted.has(kind) && cluster === 'B') return kind
 * })()
 * await lab.switchover('A', 'B')
 * console.log(await seen) // role
 */
export type EventKind = (typeof EVENT_KINDS)[number]

/** JSON-compatible details. Never put secrets into them. */
type EventDetails = Readonly<Record<string, unknown>>

/** An event without its ID and times, which the lab daemon adds. */
export interface EventDraft {
  /** The cluster of the event. Absent if the event concerns the lab or several clusters, which the details name. */
  readonly cluster?: string | undefined
  readonly kind: EventKind
  readonly details: EventDetails
  /** The equivalent shell command. */
  readonly command?: string | undefined
}

/**
 * One event of a lab.
 *
 * @example
 * import { type LabEvent, startLab } from 'understudy-lab'
 *
 * const events: LabEvent[] = []
 * const lab = await startLab('dr')
 * const listening = (async () => {
 *   for await (const event of lab.events) events.push(event)
 * })()
 * await lab.switchover('A', 'B')
 * await lab.close()
 * await listening // ends with the lab
 */
export interface LabEvent extends EventDraft {
  /** A number that increases with each event of a lab, even if its daemon restarts. */
  readonly id: number
  /** RFC 3339 with milliseconds, in UTC. */
  readonly time: string
  /** The time on the cluster's clock, if a fault or the lab has shifted it. RFC 3339. */
  readonly virtualTime?: string | undefined
  readonly lab: string
}

/**
 * Returns the time of an event, and the time on the clock of the cluster if it is shifted. Parameters in milliseconds.
 */
export const timesOf = (nowMs: number, skewMs: number): Pick<LabEvent, 'time' | 'virtualTime'> => {
  const at = (ms: number) => new Date(ms).toISOString()
  return skewMs === 0 ? { time: at(nowMs) } : { time: at(nowMs), virtualTime: at(nowMs + skewMs) }
}

export const isEventKind = (word: unknown): word is EventKind => EVENT_KINDS.some((kind) => kind === word)

/** Parses an event from a file or a stream. Returns undefined if the line is not an event. */
export const parseEvent = (line: string): LabEvent | undefined =>
  attempt(() => {
    const value = JSON.parse(line) as Partial<LabEvent> | null
    const isWhole =
      Number.isSafeInteger(value?.id) &&
      typeof value?.time === 'string' &&
      typeof value.lab === 'string' &&
      isEventKind(value.kind) &&
      typeof value.details === 'object' &&
      value.details !== null
    return isWhole ? (value as LabEvent) : undefined
  })
