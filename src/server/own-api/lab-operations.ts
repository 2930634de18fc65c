import {
  AUDIT_LINES,
  type Described,
  type Fields,
  flag,
  listOf,
  object,
  oneOf,
  openObject,
  orNull,
  type OwnOperation,
  text,
  whole,
} from './server-operations.js'

const anything = (example?: Described['example']): Described => ({ schema: { type: 'object' }, example })
const number: Described = { schema: { type: 'number' } }

const LATENCY = { name: 'latency', ms: 80 }
const between: Described = {
  schema: { type: 'array', items: { type: 'string' }, minItems: 2, maxItems: 2 },
  example: ['A', 'B'],
}
const fault: Described = { ...openObject({ name: text() }, ['name']), example: LATENCY }
const target: Fields = { between, isOneWay: flag(false), cluster: text(), forMs: whole(30_000), isHidden: flag() }
const active: Described = {
  ...openObject({ id: whole(), untilMs: whole(), fault, between, cluster: text() }, ['id', 'fault']),
  example: { id: 1, between: ['A', 'B'], isOneWay: false, fault: LATENCY },
}
const healed = object({ healed: listOf(active) })
const note = { kind: text('note'), details: anything({ text: 'the class begins' }) }
const event = object(
  { id: whole(12), time: text('2026-01-01T00:00:00.000Z'), lab: text('default'), ...note },
  { cluster: text(), command: text(), virtualTime: text() },
)
const toxiproxy = (port: number | null): Described => object({ port: orNull(whole(), port) })

/** The operations that a lab daemon serves on its socket. */
export const LAB_DAEMON_OPERATIONS = {
  'GET faults': {
    summary: 'Lists the active faults of links and servers',
    answer: object({ faults: listOf(active) }),
  },
  'POST faults': {
    summary: 'Injects a fault into the link between two clusters, or into the servers of one cluster',
    body: openObject({ ...target, fault }, ['fault']),
    answer: active,
  },
  'DELETE faults': { summary: 'Removes all faults', answer: healed },
  'DELETE faults/{id}': { summary: 'Removes one fault', answer: healed },
  'GET events': {
    summary: 'Lists the events of the lab. With follow=1, streams new events as well, one per line',
    query: [
      { name: 'after', about: 'only events with a higher ID', type: 'integer' },
      { name: 'follow', about: 'stream new events', type: 'boolean' },
    ],
    answer: object({ events: listOf(event) }),
  },
  'POST events': {
    summary: 'Adds an event',
    body: object(note, { cluster: text(), command: text() }),
    answer: event,
  },
  'GET toxiproxy': {
    summary: 'Returns the port of the Toxiproxy API; null if it is disabled',
    answer: toxiproxy(null),
  },
  'POST toxiproxy': {
    summary: 'Serves the Toxiproxy API on this port of 127.0.0.1. 0 selects a free port; null disables the API',
    body: toxiproxy(0),
    answer: toxiproxy(8474),
  },
  'POST servers/{cluster}': {
    summary: 'Starts, stops or kills the server of a cluster. Only in a lab that runs in one process',
    body: object({ verb: oneOf(['start', 'stop', 'crash'], 'stop') }),
    answer: object({}),
  },
} as const satisfies Readonly<Record<string, OwnOperation>>

const action = object(
  { verb: text('latency'), clusters: { ...listOf(text()), example: ['A', 'B'] } },
  { kind: oneOf(['dr', 'performance']), ms: whole(80), isForced: flag(), acceptsLoss: flag(), name: text() },
)
const step = object({
  name: text(),
  state: oneOf(['waiting', 'running', 'passed', 'failed', 'skipped']),
  tookMs: orNull(number),
  error: orNull(text()),
  commands: listOf(text()),
})
const drill = object({
  name: text(),
  purpose: text(),
  steps: listOf(step),
  expectations: listOf(object({ text: text(), passed: flag(), evidence: listOf(text()) })),
})
const title = text('delay the link between A and B by 80 ms')
const command = orNull(text(), 'understudy fault latency A B 80ms')
const lines: Described = { ...listOf(object({ kind: oneOf(['said', 'call']), text: text() })), example: [] }

const FORWARDED = 'Forwards the request to the active node of a cluster of the lab, with its token and namespace'
/** Examples of bodies of the Vault API, which has its own document. */
const READ = anything({ initialized: true, sealed: false, standby: false })
const POLICY = anything({ policy: 'path "kv/*" { capabilities = ["read"] }' })

/**
 * The operations of the page of a lab, below `/_understudy/v1/`. A read-only page serves only events and reads of
 * clusters.
 */
export const PAGE_OPERATIONS = {
  'GET events': {
    summary:
      'Streams the status of all clusters once a second, events, and actions. A client that reconnects continues after its last event',
    answer: 'events',
  },
  'GET actions': {
    summary: 'Lists the drills that can run on the lab, and the snapshots that can be loaded',
    answer: object({
      drills: listOf(
        object({
          name: text('dr-failover'),
          purpose: text('The primary is lost.'),
          topology: text('pr-dr'),
          duration: text('15s'),
        }),
      ),
      snapshots: listOf(text('before-the-drill')),
    }),
  },
  'POST actions': {
    summary: 'Starts an action. The event stream reports its result',
    body: action,
    answer: object({
      id: whole(1),
      title,
      command,
      state: oneOf(['running', 'done', 'failed', 'stopped'], 'running'),
      lines,
      outcome: text(''),
      tookMs: orNull(number),
      canBeStopped: flag(false),
      drill: orNull(drill),
    }),
  },
  'POST actions/plan': {
    summary: 'Returns the plan of an action: its effect and its steps. Rejects an action that would fail',
    body: action,
    answer: object({
      isDestructive: flag(false),
      consequence: text('All traffic of the link is delayed until the link is healed.'),
      command,
      steps: listOf(
        object({
          title: text('Cut the link between A and B'),
          command: orNull(text('understudy fault partition A B')),
        }),
      ),
    }),
  },
  'POST actions/root-token': {
    summary: 'Returns a root token of the lab that is valid on a cluster. A read-only page has no access to it',
    body: object({ cluster: text('A') }),
    answer: object({ token: text('root') }),
  },
  'DELETE actions/{id}': { summary: 'Stops a running drill. The lab keeps its current state' },
  'GET clusters/{cluster}/v1/{path}': {
    summary: `${FORWARDED}: read. The path can have several segments; the query string is forwarded`,
    answer: READ,
  },
  'POST clusters/{cluster}/v1/{path}': {
    summary: `${FORWARDED}: write. A read-only page permits logins only`,
    body: POLICY,
    answer: READ,
    isAlsoEmpty: true,
  },
  'PUT clusters/{cluster}/v1/{path}': {
    summary: `${FORWARDED}: same as POST`,
    body: POLICY,
    answer: READ,
    isAlsoEmpty: true,
  },
  'GET clusters/{cluster}/_understudy/v1/audit': {
    summary: 'Returns the newest audit lines of the active node of a cluster. Requires a token that may read sys/audit',
    asToken: true,
    answer: AUDIT_LINES,
  },
  'DELETE clusters/{cluster}/v1/{path}': { summary: `${FORWARDED}: delete` },
} as const satisfies Readonly<Record<string, OwnOperation>>
