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
const wish: Fields = { between, isOneWay: flag(false), cluster: text(), forMs: whole(30_000), isHidden: flag() }
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

/** The operations that a lab daemon serves on its socket, relative to the root. */
export const LAB_DAEMON_OPERATIONS = {
  'GET faults': {
    summary: 'Faults of links and servers that are active',
    answer: object({ faults: listOf(active) }),
  },
  'POST faults': {
    summary: 'Sets a fault: on the link between two clusters, or on the server of one',
    body: openObject({ ...wish, fault }, ['fault']),
    answer: active,
  },
  'DELETE faults': { summary: 'Heals all faults', answer: healed },
  'DELETE faults/{id}': { summary: 'Heals one fault', answer: healed },
  'GET events': {
    summary: 'Events of the lab; with follow=1 one a line, and on as they happen',
    query: [
      { name: 'after', about: 'only those with a higher number', type: 'integer' },
      { name: 'follow', about: 'go on', type: 'boolean' },
    ],
    answer: object({ events: listOf(event) }),
  },
  'POST events': {
    summary: 'Adds an event',
    body: object(note, { cluster: text(), command: text() }),
    answer: event,
  },
  'GET toxiproxy': {
    summary: "Where a control listens that takes toxiproxy's requests; null: nowhere",
    answer: toxiproxy(null),
  },
  'POST toxiproxy': {
    summary: 'Lets it listen there on 127.0.0.1; 0 chooses a port, null ends it',
    body: toxiproxy(0),
    answer: toxiproxy(8474),
  },
  'POST servers/{cluster}': {
    summary: 'Starts, stops or kills the server of a cluster; in a lab that runs in one process',
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

const HANDED_ON =
  'The public API of a cluster of the lab, at its active node, with the token and namespace of the request'
/** Bodies of the public API, which has its own document. */
const READ = anything({ initialized: true, sealed: false, standby: false })
const POLICY = anything({ policy: 'path "kv/*" { capabilities = ["read"] }' })

/** The operations of a lab's page below `/_understudy/v1/`. A read-only page has only events and reads of clusters. */
export const PAGE_OPERATIONS = {
  'GET events': {
    summary: 'How all clusters are, each second, and what happens and is done; a browser comes back where it was',
    answer: 'events',
  },
  'GET actions': {
    summary: 'Drills that can be played on the lab, and snapshots that can be brought back',
    answer: object({
      drills: listOf(
        object({ name: text('dr-failover'), purpose: text('The primary is lost.'), topology: text('pr-dr') }),
      ),
      snapshots: listOf(text('before-the-drill')),
    }),
  },
  'POST actions': {
    summary: 'Begins something; what comes of it is told with the events',
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
    summary: 'What it would do and call; refused where it would be',
    body: action,
    answer: object({
      title,
      isDestructive: flag(false),
      consequence: text('All that passes comes so much later, until it is healed.'),
      command,
      lines: listOf(text()),
    }),
  },
  'DELETE actions/{id}': { summary: 'Stops a drill that runs; the lab stays as it is then' },
  'GET clusters/{cluster}/v1/{path}': {
    summary: `${HANDED_ON}: reads; the path may have several parts, and what stands behind it is handed on`,
    answer: READ,
  },
  'POST clusters/{cluster}/v1/{path}': {
    summary: `${HANDED_ON}: writes; on a read-only page, logins only`,
    body: POLICY,
    answer: READ,
    isAlsoEmpty: true,
  },
  'PUT clusters/{cluster}/v1/{path}': {
    summary: `${HANDED_ON}: the same as POST`,
    body: POLICY,
    answer: READ,
    isAlsoEmpty: true,
  },
  'GET clusters/{cluster}/_understudy/v1/audit': {
    summary:
      'The newest lines that audit devices of the active node of a cluster wrote, for a token that may read sys/audit',
    asToken: true,
    answer: AUDIT_LINES,
  },
  'DELETE clusters/{cluster}/v1/{path}': { summary: `${HANDED_ON}: removes` },
} as const satisfies Readonly<Record<string, OwnOperation>>
