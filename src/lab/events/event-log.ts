import type { Clock } from '../../base/clock.js'
import { LabError } from '../model/lab-error.js'
import { type EventDraft, type LabEvent, timesOf } from './event.js'
import { EventFile, readLastEvents } from './event-file.js'

/** Events kept in memory, for those who come back after a while; the files have more. */
const KEPT_EVENTS_MAX = 1000
const KEPT_CHARACTERS_MAX = 1024 * 1024
const EVENT_CHARACTERS_MAX = 16 * 1024

/** An event and its line in the file. */
interface LoggedEvent {
  readonly id: number
  readonly line: string
}

type Listener = (event: LoggedEvent) => void

interface EventLogOptions {
  readonly lab: string
  /** Where the files are. */
  readonly directory: string
  readonly clock: Clock
  /** How far people have moved the clock of a cluster, in milliseconds. */
  readonly skewMsOf?: (cluster: string) => number
}

/** The events of a lab: bounded in memory and on disk, told to listeners, and numbered on where the last keeper ended. */
export class EventLog {
  readonly #lab: string
  readonly #clock: Clock
  readonly #skewMsOf: (cluster: string) => number
  readonly #file: EventFile
  readonly #listeners = new Set<Listener>()
  #kept: LoggedEvent[] = []
  #keptCharacters = 0
  #lastId = 0

  constructor({ lab, directory, clock, skewMsOf = () => 0 }: EventLogOptions) {
    this.#lab = lab
    this.#clock = clock
    this.#skewMsOf = skewMsOf
    for (const event of readLastEvents(directory)) this.#keep({ id: event.id, line: JSON.stringify(event) })
    this.#file = new EventFile(directory)
  }

  /** Throws a usage error when the event is larger than any has to be. */
  append(draft: EventDraft): LabEvent {
    const { cluster, kind, details, command } = draft
    const event: LabEvent = {
      id: this.#lastId + 1,
      ...timesOf(this.#clock.now(), cluster === undefined ? 0 : this.#skewMsOf(cluster)),
      lab: this.#lab,
      ...(cluster === undefined ? {} : { cluster }),
      kind,
      details,
      ...(command === undefined ? {} : { command }),
    }
    const line = JSON.stringify(event)
    if (line.length > EVENT_CHARACTERS_MAX) throw new LabError('usage', 'the event is too large')
    const logged = { id: event.id, line }
    this.#keep(logged)
    // A lab daemon that comes after one that was killed counts on from here: no number is told before it is in the file.
    this.#file.append(line)
    for (const listener of [...this.#listeners]) listener(logged)
    return event
  }

  /** Events in memory with a higher number. */
  after(id: number): readonly LoggedEvent[] {
    return this.#kept.filter((event) => event.id > id)
  }

  /** Calls `listener` with every further event until the returned function is called. */
  listen(listener: Listener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #keep(event: LoggedEvent): void {
    this.#lastId = Math.max(this.#lastId, event.id)
    this.#kept.push(event)
    this.#keptCharacters += event.line.length
    while (this.#kept.length > KEPT_EVENTS_MAX || this.#keptCharacters > KEPT_CHARACTERS_MAX)
      this.#keptCharacters -= this.#kept.shift()?.line.length ?? 0
  }
}
