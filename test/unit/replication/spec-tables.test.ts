import { expect, test } from 'vitest'
import {
  findResyncReason,
  SHIPPING,
  type Shipping,
  type ShippingEvent,
} from '../../../src/replication/primary/shipping.js'
import type { SyncSession } from '../../../src/replication/primary/sync-sessions.js'
import { DESTRUCTION, LOOKING } from '../../../src/replication/filter/purge-states.js'
import {
  type Decision,
  EVENTS,
  type Facts,
  findTransition,
  type RecordChange,
  type Stage,
  TRANSITIONS,
} from '../../../src/replication/model/machine.js'
import type { PrimaryConnection } from '../../../src/replication/rpc/transport.js'
import { CONNECTION_PHASES, type ConnectionPhase } from '../../../src/replication/secondary/connection-phase.js'
import { SYNC_STATES, initialSyncState } from '../../../src/replication/secondary/sync-state.js'
import { type StateTable, step } from '../../../src/replication/model/state-table.js'
import { decisionsAt, SAFE } from '../../support/role-decisions.js'
import { readFileSync } from 'node:fs'
import path from 'node:path'

const SPEC = path.join(import.meta.dirname, '..', '..', '..', 'src', 'replication', 'SPEC.md')

/** A table: rows by the first column, then cells by the heading of the column. */
type SpecTable = Readonly<Record<string, Readonly<Record<string, string>>>>

/** Returns the table below a heading of SPEC.md. Throws if there is none. */
const readSpecTable = (heading: string): SpecTable => {
  const text = readFileSync(SPEC, 'utf8')
  const [, section] = text.split(`\n### ${heading}\n`)
  const lines = (section?.split(/\n#/)[0] ?? '').split('\n').filter((line) => line.startsWith('|'))
  const [head, , ...rows] = lines.map((line) =>
    line
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim()),
  )
  if (!head || rows.length === 0) throw new Error(`SPEC.md has no table "${heading}"`)
  return Object.fromEntries(
    rows.map(([name = '', ...cells]) => [
      name,
      Object.fromEntries(head.slice(1).map((column, i) => [column, cells[i] ?? ''])),
    ]),
  )
}

/** Fills every cell of the columns with the result of a function. */
const tableOf = <Row extends string, Column extends string>(
  rows: readonly Row[],
  columns: readonly Column[],
  cell: (row: Row, column: Column) => string,
): SpecTable =>
  Object.fromEntries(rows.map((row) => [row, Object.fromEntries(columns.map((column) => [column, cell(row, column)]))]))

/** Samples of the states or events with one name, one per case. */
type Samples<T, Key extends 'is' | 'on'> = {
  readonly [Name in T extends Readonly<Record<Key, infer N extends string>> ? N : never]: readonly Extract<
    T,
    Readonly<Record<Key, Name>>
  >[]
}

const NEVER = / is impossible in the state /

/**
 * Returns the table of a machine as SPEC.md writes it: `state; effect, effect`, `-` for an impossible event, and `or`
 * between the outcomes of several samples.
 */
const machineTable = <State extends { readonly is: string }, Event extends { readonly on: string }, Effect>(
  table: StateTable<State, Event, Effect>,
  states: Samples<State, 'is'>,
  events: Samples<Event, 'on'>,
  nameOf: (effect: Effect) => string,
): SpecTable => {
  const outcome = (state: State, event: Event): string => {
    try {
      const { to, effects } = step(table, state, event)
      return [to.is, effects.map(nameOf).join(', ')].filter((text) => text !== '').join('; ')
    } catch (error) {
      if (error instanceof Error && NEVER.test(error.message)) return '-'
      throw error
    }
  }
  const [byState, byEvent] = [states as Record<string, readonly State[]>, events as Record<string, readonly Event[]>]
  return tableOf(Object.keys(byState), Object.keys(byEvent), (is, on) => {
    const pairs = (byState[is] ?? []).flatMap((state) => (byEvent[on] ?? []).map((event) => [state, event] as const))
    return [...new Set(pairs.map(([state, event]) => outcome(state, event)))].join(' or ')
  })
}

/** The tables of SPEC.md, compared with the machines. */

const STAGES = Object.keys(TRANSITIONS) as Stage[]

const DECIDE = decisionsAt(SAFE, true)

const stages = (dr: Stage, performance: Stage): Facts => ({ stages: { dr, performance } })

const accepted = (decision: Decision): Extract<Decision, { ok: true }> => {
  if (!decision.ok) throw new Error(decision.reason)
  return decision
}

const listed = (names: readonly string[]): string => names.join(', ') || '-'

const nameOf = (change: RecordChange): string => {
  if (change.do === 'become-primary') return `${change.do} ${change.set}`
  return change.do === 'take-credentials' ? `${change.do} ${change.mode}` : change.do
}

test('every transition matches the table in SPEC.md', () => {
  const actual = tableOf(STAGES, EVENTS, (stage, event) => findTransition(stage, event) ?? '-')
  expect(actual).toEqual(readSpecTable('Stages and events'))
})

test('a decision accepts exactly the events of the table', () => {
  for (const stage of STAGES) {
    for (const event of EVENTS) {
      const decision = DECIDE[event]('performance', stages('disabled', stage))
      expect(decision.ok ? decision.to : undefined, `${event} from ${stage}`).toBe(findTransition(stage, event))
    }
  }
})

test('the effects of every event match the table', () => {
  const expected = readSpecTable('Effects of events')
  expect(Object.keys(expected)).toEqual(EVENTS)
  for (const event of EVENTS) {
    for (const stage of STAGES.filter((from) => findTransition(from, event))) {
      const { prepare, change, end } = accepted(DECIDE[event]('performance', stages('disabled', stage)))
      const changes = listed(change.map(nameOf))
      const actual = {
        prepare: listed(prepare.map((effect) => effect.do)),
        // The only exception is described below the table.
        change: event === 'update-primary' && stage === 'bootstrapping' ? changes.replace(stage, 'secondary') : changes,
        end,
      }
      expect(actual, `${event} from ${stage}`).toEqual(expected[event])
    }
  }
})

test('the effect of a DR role on the hidden performance role matches the table', () => {
  const behind: Stage[] = ['disabled', 'primary', 'secondary', 'detached']
  const actual = tableOf(['promote', 'disable-secondary'], behind, (event, performance) => {
    const { change } = accepted(DECIDE[event]('dr', stages('secondary', performance)))
    const alone = accepted(DECIDE[event]('performance', stages('disabled', 'secondary'))).change.map(nameOf)
    expect(change.slice(0, alone.length).map(nameOf)).toEqual(alone)
    const more = change.slice(alone.length)
    return listed(more.map((effect) => ('kind' in effect ? `${effect.kind} ${effect.do}` : effect.do)))
  })
  expect(actual).toEqual(readSpecTable('Changes of the role behind a DR role'))
})

test('the search for filtered data matches the table', () => {
  const actual = machineTable(
    LOOKING,
    {
      idle: [{ is: 'idle' }],
      due: [{ is: 'due' }],
      looking: [{ is: 'looking' }],
      'looking-again': [{ is: 'looking-again' }],
    },
    { asked: [{ on: 'asked' }], begun: [{ on: 'begun' }], ended: [{ on: 'ended' }] },
    (effect) => effect.do,
  )
  expect(actual).toEqual(readSpecTable('Looking for filtered data'))
})

test('the marking and destruction of filtered data match the table', () => {
  const actual = machineTable(
    DESTRUCTION,
    { open: [{ is: 'open' }], asked: [{ is: 'asked' }], outdated: [{ is: 'outdated' }] },
    {
      'deletion-ahead': [
        { on: 'deletion-ahead', stage: undefined },
        { on: 'deletion-ahead', stage: 'hidden' },
        { on: 'deletion-ahead', stage: 'deleted' },
      ],
      found: [
        { on: 'found', stage: undefined },
        { on: 'found', stage: 'hidden' },
        { on: 'found', stage: 'deleted' },
      ],
      gone: [{ on: 'gone' }],
      lifted: [{ on: 'lifted' }],
      marked: [{ on: 'marked' }],
      'not-marked': [{ on: 'not-marked' }],
    },
    (effect) => (effect.do === 'mark' ? `mark ${effect.stage}` : effect.do),
  )
  expect(actual).toEqual(readSpecTable('Destroying filtered data'))
})

test('the stream to a secondary matches the table', () => {
  const session = { id: '1' } as SyncSession
  const start = { index: 7, hash: Buffer.alloc(20), epoch: 'e' }
  const actual = machineTable(
    SHIPPING,
    {
      opening: [
        { is: 'opening', changedAt: undefined },
        { is: 'opening', changedAt: 5 },
      ],
      streaming: [
        { is: 'streaming', under: '', session: undefined },
        { is: 'streaming', under: '', session },
      ],
      'filter-changed': [
        { is: 'filter-changed', at: 5, under: '', session: undefined },
        { is: 'filter-changed', at: 5, under: '', session },
      ],
      lost: [
        { is: 'lost', reason: 'r', under: '', session: undefined },
        { is: 'lost', reason: 'r', under: '', session },
      ],
      offering: [{ is: 'offering', under: '' }],
      comparing: [{ is: 'comparing', session, filter: '', changedAt: undefined }],
      placed: [
        { is: 'placed', session, filter: '', start, changedAt: undefined },
        { is: 'placed', session, filter: '', start, changedAt: 5 },
      ],
      ended: [{ is: 'ended' }],
    },
    {
      opened: [
        { on: 'opened', isKnown: true, filter: '', isOtherFilter: false },
        { on: 'opened', isKnown: true, filter: '', isOtherFilter: true },
        { on: 'opened', isKnown: false, filter: '', isOtherFilter: false },
      ],
      'filter-changed': [{ on: 'filter-changed', at: 6 }],
      'place-lost': [
        { on: 'place-lost', reason: 'r', session: session.id },
        { on: 'place-lost', reason: 'r', session: 'another' },
      ],
      resync: [{ on: 'resync' }],
      offered: [{ on: 'offered', session, filter: '' }],
      start: [{ on: 'start', start }],
      resumed: [{ on: 'resumed' }],
      applied: [{ on: 'applied', index: 7 }],
      'caught-up': [{ on: 'caught-up' }],
      ended: [{ on: 'ended' }],
    },
    (effect) => (effect.do === 'report' ? `report ${effect.state}` : effect.do),
  )
  expect(actual).toEqual(readSpecTable('Feeding a secondary'))
})

test('the filter of a comparison is known only without a later filter change or lost position', () => {
  const session = { id: '1' } as SyncSession
  const start = { index: 7, hash: Buffer.alloc(20), epoch: 'e' }
  const placed = { is: 'placed', session, filter: 'deny eu', start } as const
  const after = (state: Shipping, event: ShippingEvent) => step(SHIPPING, state, event).to
  const resumed = after({ ...placed, changedAt: undefined }, { on: 'resumed' })
  expect(resumed).toMatchObject({ is: 'streaming', under: 'deny eu', session })
  expect(after(resumed, { on: 'resync' })).toMatchObject({ under: 'deny eu' })
  expect(after(resumed, { on: 'place-lost', reason: 'r', session: '1' })).toMatchObject({ under: undefined, session })
  const changed = after(resumed, { on: 'filter-changed', at: 9 })
  expect(changed).toMatchObject({ at: 9, under: undefined, session })
  expect([8, 9].map((cursor) => findResyncReason(changed, cursor))).toEqual([undefined, 'paths filter changed'])
  expect(after({ ...placed, changedAt: 9 }, { on: 'resumed' })).toMatchObject({ at: 9, under: undefined, session })
  expect(after({ ...placed, changedAt: 9 }, { on: 'resync' })).toMatchObject({ is: 'offering', under: undefined })
})

test('a position that was lost before an offer is found by that offer', () => {
  const session = { id: '2' } as SyncSession
  const comparing = { is: 'comparing', session, filter: '', changedAt: undefined } as const
  const lost = (of: string) => step(SHIPPING, comparing, { on: 'place-lost', reason: 'r', session: of })
  for (const before of ['', '1']) expect(lost(before)).toEqual({ to: comparing, effects: [] })
  expect(lost('2').to).toMatchObject({ is: 'lost', reason: 'r', session })
})

test('the link of a follower matches the table', () => {
  const connection = {} as PrimaryConnection
  const redial = new AbortController()
  const actual = machineTable(
    CONNECTION_PHASES,
    {
      unstarted: [{ is: 'unstarted' }],
      dialling: [{ is: 'dialling', shown: 'connecting', refusal: undefined, redial }],
      connected: [{ is: 'connected', connection, redial }],
      ended: [{ is: 'ended', shown: 'ready', refusal: undefined, redial }],
      waiting: [{ is: 'waiting', refusal: undefined }],
      over: [{ is: 'over', refusal: undefined }],
    },
    {
      dial: [{ on: 'dial', redial }],
      accepted: [{ on: 'accepted', connection }],
      ended: [
        { on: 'ended', refusal: undefined },
        { on: 'ended', refusal: 'epoch' },
        { on: 'ended', refusal: 'revoked' },
        { on: 'ended', refusal: 'rewound' },
      ],
      wait: [{ on: 'wait' }],
      stop: [{ on: 'stop' }],
    },
    (effect) => effect.do,
  )
  expect(actual).toEqual(readSpecTable('The link of a follower'))
})

test('a refusal and a failure are shown until a primary accepts the follower', () => {
  const redial = new AbortController()
  const connection = {} as PrimaryConnection
  const dialling: ConnectionPhase = { is: 'dialling', shown: 'connecting', refusal: undefined, redial }
  const refused = step(CONNECTION_PHASES, dialling, { on: 'ended', refusal: 'epoch' }).to
  expect(refused).toMatchObject({ shown: 'transient_failure', refusal: 'epoch' })
  const waiting = step(CONNECTION_PHASES, refused, { on: 'wait' }).to
  const again = step(CONNECTION_PHASES, waiting, { on: 'dial', redial }).to
  expect(again).toMatchObject({ is: 'dialling', shown: 'transient_failure', refusal: 'epoch' })
  expect(step(CONNECTION_PHASES, again, { on: 'ended', refusal: undefined }).to).toMatchObject({ refusal: 'epoch' })
  const connected = step(CONNECTION_PHASES, again, { on: 'accepted', connection }).to
  const lost = step(CONNECTION_PHASES, connected, { on: 'ended', refusal: undefined }).to
  expect(lost).toMatchObject({ shown: 'ready', refusal: undefined })
  expect(step(CONNECTION_PHASES, lost, { on: 'dial', redial }).to).toMatchObject({
    shown: 'connecting',
    refusal: undefined,
  })
})

test('the data state of a follower matches the table', () => {
  const applied = { epoch: 'e', index: 7 }
  const actual = machineTable(
    SYNC_STATES,
    {
      idle: [{ is: 'idle', applied }],
      'merkle-diff': [{ is: 'merkle-diff', applied }],
      'merkle-sync': [{ is: 'merkle-sync', progress: { totalKeys: 2, doneKeys: 1 }, applied }],
      'stream-wals': [{ is: 'stream-wals', applied }],
    },
    {
      idle: [{ on: 'idle' }],
      'merkle-diff': [{ on: 'merkle-diff' }],
      'merkle-sync': [{ on: 'merkle-sync' }],
      taken: [
        { on: 'taken', epoch: 'e' },
        { on: 'taken', epoch: 'f' },
      ],
      applied: [{ on: 'applied', position: { epoch: 'e', index: 8 } }],
      progress: [{ on: 'progress', progress: { totalKeys: 2, doneKeys: 2 } }],
    },
    () => '',
  )
  expect(actual).toEqual(readSpecTable('The data of a follower'))
})

test('a position survives comparisons and is 0 in another epoch, and each sync restarts the progress', () => {
  const place = { epoch: 'e', index: 7 }
  const streaming = initialSyncState(place, false)
  const syncing = step(SYNC_STATES, streaming, { on: 'merkle-sync' }).to
  expect(syncing).toEqual({ is: 'merkle-sync', applied: place, progress: { totalKeys: 0, doneKeys: 0 } })
  const progress = { totalKeys: 2, doneKeys: 1 }
  const halfway = step(SYNC_STATES, syncing, { on: 'progress', progress }).to
  expect(step(SYNC_STATES, halfway, { on: 'merkle-sync' }).to).toMatchObject({ progress })
  expect(step(SYNC_STATES, halfway, { on: 'taken', epoch: 'e' }).to).toBe(halfway)
  const taken = step(SYNC_STATES, halfway, { on: 'taken', epoch: 'f' }).to
  expect(taken).toEqual({ is: 'merkle-diff', applied: { epoch: 'f', index: 0 } })
  expect(step(SYNC_STATES, taken, { on: 'progress', progress }).to).toBe(taken)
  expect([initialSyncState(undefined, true).is, initialSyncState(undefined, false).is]).toEqual([
    'merkle-sync',
    'merkle-diff',
  ])
})
