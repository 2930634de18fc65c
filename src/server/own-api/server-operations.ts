import { HOLD_STATES } from '../../replication/host/holds.js'
import { DISK_STATES } from '../faults/disk-faults.js'
import { type Described, flag, listOf, object, oneOf, orNull, type OwnOperation, text, whole } from './operation.js'

const kind = oneOf('dr', 'performance')
const lost = object({ index: whole, path: text, operation: text })
const LOST_EXAMPLE = { index: 41, path: 'logical/7d0c/greeting', operation: 'put' }
const holdState = oneOf(...HOLD_STATES)

/** `kept` lists the devices whose lines are kept: not those that log raw values or discard their lines. */
export const AUDIT_LINES: Described = {
  schema: object({ kept: listOf(text), lines: listOf(object({ device: text, text })) }),
  example: {
    kept: ['file/'],
    lines: [
      {
        device: 'file/',
        text: '{"time":"2026-01-05T10:00:00.000000Z","type":"request","request":{"operation":"read","path":"kv/data/app"}}',
      },
    ],
  },
}

/** All operations of a server below `/_understudy/v1/`. The implementation is looked up by these names. */
export const SERVER_OPERATIONS = {
  'GET info': {
    summary:
      'Roles, versions, fencing, the generation of the storage, the place among several nodes, and requests since the start; sealed or not',
    answer: {
      schema: object({
        name: text,
        version: text,
        reported_version: text,
        storage_generation: whole,
        epoch: text,
        fenced: orNull(
          object({ epoch: text, by_epoch: text, since: text, accepted: listOf(lost), accepted_beyond: whole }),
        ),
        ahead: orNull(
          object({ epoch: text, last_remote_wal: whole, common_wal: whole, primary_last_wal: whole, since: text }),
        ),
        purge_pending: flag,
        kinds: object({ dr: text, performance: text }),
        node: orNull(
          object({ id: text, state: text, is_active: flag, is_performance_standby: flag, applied_index: whole }),
        ),
        requests: object({ handled: whole, refused: whole }),
      }),
      example: {
        name: 'A',
        version: '0.1.0',
        reported_version: '1.20.4+ent',
        storage_generation: 1,
        epoch: '5f2c',
        fenced: null,
        ahead: null,
        purge_pending: false,
        kinds: { dr: 'primary', performance: 'disabled' },
        node: null,
        requests: { handled: 1724, refused: 3 },
      },
    },
  },
  'GET losses': {
    summary: 'What failovers lost, entry by entry; sealed or not',
    answer: {
      schema: object({
        losses: listOf(
          object({
            epoch: text,
            first_index: whole,
            last_index: whole,
            reason: text,
            entries: listOf(lost),
            entries_beyond: whole,
            frames_beyond: whole,
          }),
        ),
      }),
      example: {
        losses: [
          {
            epoch: '5f2c',
            first_index: 41,
            last_index: 41,
            reason: 'resync',
            entries: [LOST_EXAMPLE],
            entries_beyond: 0,
            frames_beyond: 0,
          },
        ],
      },
    },
  },
  'GET events': {
    summary:
      'How the server and those that it replicates with are, each second, for its page; with lab_api or ui, sealed or not',
    answer: 'events',
  },
  'GET audit': {
    summary:
      'The newest lines that audit devices of this server wrote, for a token that may read sys/audit; unsealed, with lab_api or ui',
    asToken: true,
    answer: AUDIT_LINES,
  },
  'GET metrics': {
    summary: 'Metrics for Prometheus; unsealed, with lab_api or unauthenticated_metrics_access',
    answer: 'text',
  },
  'GET states': {
    summary: 'States in which replication is to stop, and whether it has',
    isLabOnly: true,
    answer: {
      schema: object({ states: listOf(object({ kind, state: holdState, isReached: flag })) }),
      example: { states: [{ kind: 'dr', state: 'merkle-sync', isReached: false }] },
    },
  },
  'POST states/hold': {
    summary: 'Replication stops when it comes to this state; without a kind, both',
    isLabOnly: true,
    body: { schema: object({ state: holdState }, { kind }), example: { state: 'merkle-sync', kind: 'dr' } },
  },
  'POST states/release': {
    summary: 'Replication goes on; without a state or a kind, all of them',
    isLabOnly: true,
    body: { schema: object({}, { state: holdState, kind }), example: { state: 'merkle-sync', kind: 'dr' } },
  },
  'POST clock': {
    summary: 'What the server adds to the time',
    isLabOnly: true,
    body: { schema: object({ skew: text }), example: { skew: '5m' } },
  },
  'GET faults': {
    summary: 'The skew of the clock, and how the disk behaves',
    isLabOnly: true,
    answer: {
      schema: object({ skew_ms: whole, disk: object({ state: oneOf(...DISK_STATES), delay_ms: whole }) }),
      example: { skew_ms: 0, disk: { state: 'ok', delay_ms: 0 } },
    },
  },
  'POST faults/disk': {
    summary: 'How writes fare; the delay is for a slow disk',
    isLabOnly: true,
    body: {
      schema: object({ state: oneOf(...DISK_STATES) }, { delay: text }),
      example: { state: 'slow', delay: '200ms' },
    },
  },
  'POST faults/corrupt': {
    summary: 'Damages a page of a merkle tree, from 0 to 255; the next comparison finds it',
    isLabOnly: true,
    body: { schema: object({ tree: oneOf('replicated', 'local'), page: whole }), example: { tree: 'local', page: 7 } },
  },
  'POST faults/expire-token': {
    summary: 'Expires an unused activation token',
    isLabOnly: true,
    body: { schema: object({ kind, id: text }), example: { kind: 'dr', id: 'b' } },
  },
  'POST image/pause': {
    summary: 'Nothing is written from now on, until an image is taken or three seconds have passed',
    isLabOnly: true,
  },
  'POST image/take': {
    summary: 'Writes an image of all data into the data directory (lab-image.out) and lets writes go on',
    isLabOnly: true,
    answer: {
      schema: object({ sha256: text, bytes: whole, paused_ms: whole }),
      example: { sha256: '9f86d081884c7d65', bytes: 127060, paused_ms: 12 },
    },
  },
  'POST image/release': { summary: 'Writes go on without an image', isLabOnly: true },
  'POST image/stop': {
    summary: 'The cluster serves no client and stops replication, until an image is loaded or five seconds have passed',
    isLabOnly: true,
  },
  'POST image/load': {
    summary: 'Replaces the data by the image in the data directory (lab-image.in), once stopped',
    isLabOnly: true,
  },
  'POST image/resume': { summary: 'Goes on with the data that was there, once stopped', isLabOnly: true },
} as const satisfies Readonly<Record<string, OwnOperation>>

export type ServerOperation = keyof typeof SERVER_OPERATIONS
