import { HOLD_STATES } from '../../replication/host/holds.js'
import { DISK_STATES } from '../faults/disk-faults.js'
import type { JsonObject, JsonValue } from '../../logical/json.js'

export interface OwnOperation {
  readonly summary: string
  /** True if a server serves the operation only with `lab_api`. */
  readonly isLabOnly?: true
  readonly asToken?: true
  readonly query?: readonly QueryParameter[]
  readonly body?: Described
  /**
   * The response body. If undefined, the response is 204 without a body. `text` is in Prometheus format. `events` is a
   * stream of server-sent events.
   */
  readonly answer?: Described | 'text' | 'events'
  /** True if the response may also be 204, because there is nothing to return. */
  readonly isAlsoEmpty?: true
}

interface QueryParameter {
  readonly name: string
  readonly about: string
  readonly type: 'integer' | 'boolean'
}

/** The schema and an example of a JSON value. The example of an object omits properties that have no example. */
export interface Described {
  readonly schema: JsonObject
  readonly example?: JsonValue | undefined
}

export type Fields = Readonly<Record<string, Described>>

export const text = (example?: string): Described => ({ schema: { type: 'string' }, example })
export const whole = (example?: number): Described => ({ schema: { type: 'integer' }, example })
export const flag = (example?: boolean): Described => ({ schema: { type: 'boolean' }, example })
export const oneOf = (values: readonly string[], example?: string): Described => ({
  schema: { type: 'string', enum: [...values] },
  example,
})
/** Describes a list. Its example has one item, or none if the items have no example. */
export const listOf = ({ schema, example }: Described): Described => ({
  schema: { type: 'array', items: schema },
  example: example === undefined ? [] : [example],
})
export const orNull = ({ schema }: Described, example: JsonValue = null): Described => ({
  schema: { anyOf: [schema, { type: 'null' }] },
  example,
})

/** Describes an object without further properties. The properties of `required` are always present. */
export const object = (required: Fields, optional: Fields = {}): Described =>
  openObject({ ...required, ...optional }, Object.keys(required), { additionalProperties: false })

/** Describes an object that may have further properties. */
export const openObject = (fields: Fields, required: readonly string[], more: JsonObject = {}): Described => {
  const examples = Object.entries(fields).flatMap(([name, { example }]) =>
    example === undefined ? [] : [[name, example] as const],
  )
  return {
    schema: {
      type: 'object',
      properties: Object.fromEntries(Object.entries(fields).map(([name, { schema }]) => [name, schema])),
      required: [...required],
      ...more,
    },
    example: examples.length > 0 || required.length === 0 ? Object.fromEntries(examples) : undefined,
  }
}

const kind = oneOf(['dr', 'performance'], 'dr')

/** The types of credentials that a lost entry can have revoked. */
export const CREDENTIALS = ['token', 'secret_id'] as const

const lost = object({
  index: whole(41),
  path: text('logical/7d0c/greeting'),
  operation: text('put'),
  credential: orNull(oneOf(CREDENTIALS)),
})
const loss = object({
  epoch: text('5f2c'),
  first_index: whole(41),
  last_index: whole(41),
  reason: text('resync'),
  entries: listOf(lost),
  entries_beyond: whole(0),
  frames_beyond: whole(0),
})
const holdState = oneOf(HOLD_STATES, 'merkle-sync')
const AUDIT_LINE =
  '{"time":"2026-01-05T10:00:00.000000Z","type":"request","request":{"operation":"read","path":"kv/data/app"}}'

/**
 * The response with audit lines. `kept` lists the audit devices whose lines can be returned. It omits devices that log
 * raw values or discard lines.
 */
export const AUDIT_LINES = object({
  kept: listOf(text('file/')),
  lines: listOf(object({ device: text('file/'), text: text(AUDIT_LINE) })),
})

/** Marks operations as available only with `lab_api`. */
const labOnly = <Name extends string>(operations: Readonly<Record<Name, OwnOperation>>) =>
  Object.fromEntries(
    Object.entries<OwnOperation>(operations).map(([name, operation]) => [name, { ...operation, isLabOnly: true }]),
  ) as Readonly<Record<Name, OwnOperation>>

/** All operations of a server below `/_understudy/v1/`. The names select the functions that execute them. */
export const SERVER_OPERATIONS = {
  'GET info': {
    summary:
      'Returns roles, versions, fencing, storage generation, node state and request counters. Available while sealed',
    answer: object({
      name: text('A'),
      version: text('0.1.0'),
      reported_version: text('1.20.4+ent'),
      storage_generation: whole(1),
      epoch: text('5f2c'),
      primary_epoch: text('5f2c'),
      fenced: orNull(
        object({ epoch: text(), by_epoch: text(), since: text(), accepted: listOf(lost), accepted_beyond: whole() }),
      ),
      ahead: orNull(
        object({
          epoch: text(),
          last_remote_wal: whole(),
          common_wal: whole(),
          primary_last_wal: whole(),
          since: text(),
        }),
      ),
      announced_wal: whole(0),
      purge_pending: flag(false),
      kinds: object({ dr: text('primary'), performance: text('disabled') }),
      node: orNull(
        object({
          id: text(),
          state: text(),
          is_active: flag(),
          is_performance_standby: flag(),
          applied_index: whole(),
        }),
      ),
      requests: object({ handled: whole(1724), refused: whole(3) }),
    }),
  },
  'GET losses': {
    summary:
      'Lists the log entries that failovers lost, and those that only this cluster has. Requires an unsealed server',
    answer: object({ losses: listOf(loss), held: listOf(loss) }),
  },
  'GET events': {
    summary:
      'Streams the status of the server and its replication peers once a second. Requires lab_api or ui. Available while sealed',
    answer: 'events',
  },
  'GET audit': {
    summary:
      'Returns the newest audit lines of this server. Requires lab_api or ui, an unsealed server, and a token that may read sys/audit',
    asToken: true,
    answer: AUDIT_LINES,
  },
  'GET metrics': {
    summary:
      'Returns metrics for Prometheus. Requires lab_api or unauthenticated_metrics_access, and an unsealed server',
    answer: 'text',
  },
  ...labOnly({
    'GET states': {
      summary: 'Lists the states in which replication stops, and whether it has stopped there',
      answer: object({ states: listOf(object({ kind, state: holdState, isReached: flag(false) })) }),
    },
    'POST states/hold': {
      summary: 'Stops replication when it next enters this state. Without a kind, applies to both kinds',
      body: object({ state: holdState }, { kind }),
    },
    'POST states/release': {
      summary: 'Resumes replication. Without a state or kind, releases all states or both kinds',
      body: object({}, { state: holdState, kind }),
    },
    'POST clock': { summary: 'Sets the clock skew of the server', body: object({ skew: text('5m') }) },
    'GET faults': {
      summary: 'Returns the clock skew and the disk fault',
      answer: object({ skew_ms: whole(0), disk: object({ state: oneOf(DISK_STATES, 'ok'), delay_ms: whole(0) }) }),
    },
    'POST faults/disk': {
      summary: 'Sets the disk fault. The delay applies to a slow disk only',
      body: object({ state: oneOf(DISK_STATES, 'slow') }, { delay: text('200ms') }),
    },
    'POST faults/corrupt': {
      summary: 'Damages a page (0 to 255) of a Merkle tree. The next comparison detects the damage',
      body: object({ tree: oneOf(['replicated', 'local'], 'local'), page: whole(7) }),
    },
    'POST faults/expire-token': {
      summary: 'Expires an unused activation token',
      body: object({ kind, id: text('b') }),
    },
    'POST image/pause': {
      summary: 'Pauses all writes until an image is taken, for at most three seconds',
    },
    'POST image/take': {
      summary: 'Writes an image of all data to lab-image.out in the data directory, and resumes writes',
      answer: object({ sha256: text('9f86d081884c7d65'), bytes: whole(127060), paused_ms: whole(12) }),
    },
    'POST image/release': { summary: 'Resumes writes without taking an image' },
    'POST image/stop': {
      summary: 'Stops client requests and replication until an image is loaded, for at most five seconds',
    },
    'POST image/load': {
      summary: 'Replaces the data with the image lab-image.in in the data directory. Requires a preceding image/stop',
    },
    'POST image/resume': { summary: 'Continues with the existing data after image/stop' },
  }),
} as const satisfies Readonly<Record<string, OwnOperation>>

export type ServerOperation = keyof typeof SERVER_OPERATIONS
