import { attempt } from '../../base/attempt.js'
import { type ActiveFault, describeFault, describeTarget } from './active-fault.js'
import type { EventKind, LabEvent } from '../events/event.js'

type Words = (event: LabEvent) => string

const text = ({ details }: LabEvent, key: string): string => String(details[key] ?? '')

const fromTo: Words = (event) => `${text(event, 'from')} -> ${text(event, 'to')}`

const replicated: Words = (event) => `${text(event, 'replication')}: ${fromTo(event)}`

/** `end`: the text after the description of the fault. */
const fault =
  (end: string): Words =>
  ({ details }) => {
    const active = details as unknown as ActiveFault
    return `${active.id}: ${describeTarget(active)}, ${describeFault(active)}${end}`
  }

const stepWords: Words = (event) => `${text(event, 'drill')}, ${text(event, 'step')}: ${text(event, 'phase')}`

const plain: Words = ({ details }) =>
  Object.entries(details)
    .map(([key, value]) => `${key}=${isWord(value) ? value : JSON.stringify(value)}`)
    .join(' ')

/** Whether a value needs no quotes. */
const isWord = (value: unknown): value is string => typeof value === 'string' && /^[^\s"'=\\]+$/.test(value)

const WORDS: Readonly<Record<EventKind, Words>> = {
  'lab-up': (event) => `the lab is up (${text(event, 'topology')})`,
  'lab-down': () => 'the lab is stopping',
  'daemon-started': () => 'the lab daemon has started',
  command: (event) => event.command ?? plain(event),
  call: (event) => event.command ?? `${text(event, 'method')} ${text(event, 'path')}`,
  'fault-set': fault(''),
  'fault-healed': fault(': healed'),
  'fault-expired': fault(': expired'),
  process: fromTo,
  seal: fromTo,
  node: fromTo,
  role: replicated,
  replication: replicated,
  drill: (event) => (event.details.phase === undefined ? plain(event) : stepWords(event)),
  note: (event) => text(event, 'text'),
}

const KIND_WIDTH = 14

/** Formats an event as one line: `12:03:04.123 A role           dr: secondary -> primary`. */
export const describeEvent = (event: LabEvent): string => {
  const time = event.time.slice('2000-01-01T'.length, -1)
  const clock = event.virtualTime === undefined ? '' : ` (clock of the cluster: ${event.virtualTime})`
  return `${time} ${(event.cluster ?? '-').padEnd(2)} ${event.kind.padEnd(KIND_WIDTH)} ${wordsOf(event)}${clock}`
}

/** Returns the text of an event. If its details are malformed, lists them, because users can edit event files. */
export const wordsOf = (event: LabEvent): string => attempt(() => WORDS[event.kind](event)) ?? plain(event)
