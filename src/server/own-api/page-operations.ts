import type { JsonObject } from '../../logical/json.js'
import { AUDIT_LINES } from './server-operations.js'
import { flag, listOf, object, oneOf, orNull, type OwnOperation, text, whole } from './operation.js'

const number: JsonObject = { type: 'number' }
const action = object(
  { verb: text, clusters: listOf(text) },
  { kind: oneOf('dr', 'performance'), ms: whole, isForced: flag, name: text },
)
const ACTION_EXAMPLE = { verb: 'latency', clusters: ['A', 'B'], ms: 80 }
const step = object({
  name: text,
  state: oneOf('waiting', 'running', 'passed', 'failed', 'skipped'),
  tookMs: orNull(number),
  error: orNull(text),
  commands: listOf(text),
})
const drill = object({
  name: text,
  purpose: text,
  steps: listOf(step),
  expectations: listOf(object({ text, passed: flag, evidence: listOf(text) })),
})
const work = object({
  id: whole,
  title: text,
  command: orNull(text),
  state: oneOf('running', 'done', 'failed', 'stopped'),
  lines: listOf(object({ kind: oneOf('said', 'call'), text })),
  outcome: text,
  tookMs: orNull(number),
  canBeStopped: flag,
  drill: orNull(drill),
})
const TITLE = 'delay the link between A and B by 80 ms'
const COMMAND = 'understudy fault latency A B 80ms'

/** Returns a body of the public API, which has its own document. */
const publicBody = (example: JsonObject) => ({ schema: { type: 'object' } as JsonObject, example })
const HANDED_ON =
  'The public API of a cluster of the lab, at its active node, with the token and namespace of the request'
const READ = publicBody({ initialized: true, sealed: false, standby: false })

/** The operations of a lab's page below `/_understudy/v1/`. A read-only page has only events and reads of clusters. */
export const PAGE_OPERATIONS = {
  'GET events': {
    summary: 'How all clusters are, each second, and what happens and is done; a browser comes back where it was',
    answer: 'events',
  },
  'GET actions': {
    summary: 'Drills that can be played on the lab, and snapshots that can be brought back',
    answer: {
      schema: object({
        drills: listOf(object({ name: text, purpose: text, topology: text })),
        snapshots: listOf(text),
      }),
      example: {
        drills: [{ name: 'dr-failover', purpose: 'The primary is lost.', topology: 'pr-dr' }],
        snapshots: ['before-the-drill'],
      },
    },
  },
  'POST actions': {
    summary: 'Begins something; what comes of it is told with the events',
    body: { schema: action, example: ACTION_EXAMPLE },
    answer: {
      schema: work,
      example: {
        ...{ id: 1, title: TITLE, command: COMMAND, state: 'running', lines: [] },
        ...{ outcome: '', tookMs: null, canBeStopped: false, drill: null },
      },
    },
  },
  'POST actions/plan': {
    summary: 'What it would do and call; refused where it would be',
    body: { schema: action, example: ACTION_EXAMPLE },
    answer: {
      schema: object({
        title: text,
        isDestructive: flag,
        consequence: text,
        command: orNull(text),
        lines: listOf(text),
      }),
      example: {
        title: TITLE,
        isDestructive: false,
        consequence: 'All that passes comes so much later, until it is healed.',
        command: COMMAND,
        lines: [],
      },
    },
  },
  'DELETE actions/{id}': { summary: 'Stops a drill that runs; the lab stays as it is then' },
  'GET clusters/{cluster}/v1/{path}': {
    summary: `${HANDED_ON}: reads; the path may have several parts, and what stands behind it is handed on`,
    answer: READ,
  },
  'POST clusters/{cluster}/v1/{path}': {
    summary: `${HANDED_ON}: writes; of a page that is only to look at logins alone`,
    body: publicBody({ policy: 'path "kv/*" { capabilities = ["read"] }' }),
    answer: READ,
    isAlsoEmpty: true,
  },
  'PUT clusters/{cluster}/v1/{path}': {
    summary: `${HANDED_ON}: the same as POST`,
    body: publicBody({ policy: 'path "kv/*" { capabilities = ["read"] }' }),
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
