import type { JsonObject } from '../../logical/json.js'
import { listOf, object, oneOf, type OwnOperation, orNull, text, whole } from './operation.js'

const anything: JsonObject = { type: 'object' }
const between: JsonObject = { type: 'array', items: text, minItems: 2, maxItems: 2 }
const named: JsonObject = { type: 'object', properties: { name: text }, required: ['name'] }
const wish: JsonObject = {
  between,
  isOneWay: { type: 'boolean' },
  cluster: text,
  forMs: whole,
  isHidden: { type: 'boolean' },
}
const active: JsonObject = {
  type: 'object',
  properties: { id: whole, untilMs: whole, fault: named, between, cluster: text },
  required: ['id', 'fault'],
}
const ACTIVE_EXAMPLE = { id: 1, between: ['A', 'B'], isOneWay: false, fault: { name: 'latency', ms: 80 } }
const event = object(
  { id: whole, time: text, lab: text, kind: text, details: anything },
  { cluster: text, command: text, virtualTime: text },
)
const EVENT_EXAMPLE = {
  id: 12,
  time: '2026-01-01T00:00:00.000Z',
  lab: 'default',
  kind: 'note',
  details: { text: 'the class begins' },
}

/** The operations that a lab daemon serves on its socket, relative to the root. */
export const LAB_DAEMON_OPERATIONS = {
  'GET faults': {
    summary: 'Faults of links and servers that are active',
    answer: { schema: object({ faults: listOf(active) }), example: { faults: [ACTIVE_EXAMPLE] } },
  },
  'POST faults': {
    summary: 'Sets a fault: on the link between two clusters, or on the server of one',
    body: {
      schema: { type: 'object', properties: { ...wish, fault: named }, required: ['fault'] },
      example: { between: ['A', 'B'], isOneWay: false, fault: { name: 'latency', ms: 80 }, forMs: 30_000 },
    },
    answer: { schema: active, example: ACTIVE_EXAMPLE },
  },
  'DELETE faults': {
    summary: 'Heals all faults',
    answer: { schema: object({ healed: listOf(active) }), example: { healed: [ACTIVE_EXAMPLE] } },
  },
  'DELETE faults/{id}': {
    summary: 'Heals one fault',
    answer: { schema: object({ healed: listOf(active) }), example: { healed: [ACTIVE_EXAMPLE] } },
  },
  'GET events': {
    summary: 'Events of the lab; with follow=1 one a line, and on as they happen',
    query: [
      { name: 'after', about: 'only those with a higher number', type: 'integer' },
      { name: 'follow', about: 'go on', type: 'boolean' },
    ],
    answer: { schema: object({ events: listOf(event) }), example: { events: [EVENT_EXAMPLE] } },
  },
  'POST events': {
    summary: 'Adds an event',
    body: {
      schema: object({ kind: text, details: anything }, { cluster: text, command: text }),
      example: { kind: 'note', details: { text: 'the class begins' } },
    },
    answer: { schema: event, example: EVENT_EXAMPLE },
  },
  'GET toxiproxy': {
    summary: "Where a control listens that takes toxiproxy's requests; null: nowhere",
    answer: { schema: object({ port: orNull(whole) }), example: { port: null } },
  },
  'POST toxiproxy': {
    summary: 'Lets it listen there on 127.0.0.1; 0 chooses a port, null ends it',
    body: { schema: object({ port: orNull(whole) }), example: { port: 0 } },
    answer: { schema: object({ port: orNull(whole) }), example: { port: 8474 } },
  },
  'POST servers/{cluster}': {
    summary: 'Starts, stops or kills the server of a cluster; in a lab that runs in one process',
    body: { schema: object({ verb: oneOf('start', 'stop', 'crash') }), example: { verb: 'stop' } },
    answer: { schema: object({}), example: {} },
  },
} as const satisfies Readonly<Record<string, OwnOperation>>
