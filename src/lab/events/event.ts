/**
 * Kinds of events in a lab. The word of a kind says whose doing it was: `command` somebody's, `fault-...` the lab's own,
 * the others are changes of the clusters that the lab daemon saw.
 */
const EVENT_KINDS = [
  /** The lab is up, or on its way down. */
  'lab-up',
  'lab-down',
  /** Details: `reason`. Whatever happened between its last event and this one nobody saw. */
  'keeper-started',
  /** A command that changes something; details: `verb`, and what it was given. */
  'command',
  /** A request that changes something on a cluster; `command` is the line that makes it by hand, without secrets. */
  'call',
  /** Details: the fault, as `fault ls --json` has it. */
  'fault-set',
  'fault-healed',
  'fault-expired',
  /** Details: `from`, `to`: running, silent (it accepts connections and says nothing) or stopped. */
  'process',
  /** Details: `from`, `to`: uninitialised, sealed or unsealed. */
  'seal',
  /** Of one of several nodes, which `cluster` names; details: `from`, `to`: active or standby. */
  'node',
  /** Details: `replication` (dr or performance), `from`, `to`: a mode. */
  'role',
  /** Details: `replication`, `from`, `to`: the state of a secondary, such as `stream-wals, ready`. */
  'replication',
  /** A step of a drill: details say which, and the phase. */
  'drill',
  /** Anything else that is worth a line; details: `text`. */
  'note',
] as const

/**
 * Kinds of events in a lab: `command` and `call` are somebody's doing, `fault-...` the lab's own, and `process`,
 * `seal`, `node`, `role` and `replication` are changes of the clusters that were seen.
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

/** Details are plain data that goes through JSON unchanged. Secrets have no place in them. */
export type EventDetails = Readonly<Record<string, unknown>>

/** An event as it is reported; the lab daemon adds its number and its times. */
export interface EventDraft {
  /** The cluster that it concerns; absent: the lab as a whole, or several clusters, which details name. */
  readonly cluster?: string | undefined
  readonly kind: EventKind
  readonly details: EventDetails
  /** The line of a shell that does the same. */
  readonly command?: string | undefined
}

/**
 * One thing that happened in a lab.
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
  /** Counts up within a lab, also over restarts of its keeper. */
  readonly id: number
  /** RFC 3339 with milliseconds, in UTC. */
  readonly time: string
  /** What the clock of the cluster shows, where a fault or the lab has moved that. RFC 3339. */
  readonly virtualTime?: string | undefined
  readonly lab: string
}

/** The time of an event, and that of the cluster it concerns where its clock was moved. Milliseconds. */
export const timesOf = (nowMs: number, skewMs: number): Pick<LabEvent, 'time' | 'virtualTime'> => {
  const at = (ms: number) => new Date(ms).toISOString()
  return skewMs === 0 ? { time: at(nowMs) } : { time: at(nowMs), virtualTime: at(nowMs + skewMs) }
}

export const isEventKind = (word: unknown): word is EventKind => EVENT_KINDS.some((kind) => kind === word)

/** An event that was read back from a file or a stream; undefined when it is none. */
export const parseEvent = (line: string): LabEvent | undefined => {
  try {
    const value = JSON.parse(line) as Partial<LabEvent> | null
    const isWhole =
      Number.isSafeInteger(value?.id) &&
      typeof value?.time === 'string' &&
      typeof value.lab === 'string' &&
      isEventKind(value.kind) &&
      typeof value.details === 'object' &&
      value.details !== null
    return isWhole ? (value as LabEvent) : undefined
  } catch {
    return undefined
  }
}
