import { describe, expect, it } from 'vitest'
import type { PageEvent, PageSurvey } from '../../../src/lab/web/page-facts.js'
import type { PageJob } from '../../../src/lab/web/page-job.js'
import { INITIAL_STATE, isStale, type PageMessage, type PageState, reduce } from '../../../src/web/feed/state.js'
import { filterEvents, GROUPS, type Group } from '../../../src/web/timeline/filter.js'

const event = (id: number, more: Partial<PageEvent> = {}): PageEvent => ({
  id,
  time: '2026-01-01T00:00:00.000Z',
  cluster: null,
  kind: 'note',
  text: `event ${id}`,
  command: null,
  step: null,
  ...more,
})
const stateAfter = (...messages: PageMessage[]): PageState => messages.reduce(reduce, INITIAL_STATE)
const range = (first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_, index) => event(first + index))
const survey = (primary: string | null): PageSurvey => ({
  lab: 'default',
  atMs: 0,
  topology: 'dr',
  planned: [],
  clusters: [],
  links: [
    {
      ...{ kind: 'dr', primary, secondary: 'B', state: 'stream-wals', connectionState: 'ready' },
      ...{ lagEntries: 0, lagSeconds: 0 },
    },
  ],
  faults: [],
  splits: [],
  problems: [],
  losses: [],
  hasEvents: true,
  actions: {},
})

describe('what the page knows', () => {
  it('the page state has each event once, also after a reconnect', () => {
    const state = stateAfter({ type: 'events', events: range(1, 5) }, { type: 'events', events: range(3, 8) })
    expect(state.events.map(({ id }) => id)).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
  })

  it('the page state keeps a limited number of the newest events', () => {
    let state = INITIAL_STATE
    for (let id = 1; id <= 5000; id += 1) state = reduce(state, { type: 'events', events: [event(id)] })
    expect([state.events.length, state.events.at(-1)?.id]).toEqual([1000, 5000])
  })

  it('the page state restarts with a lab that restarts its numbers', () => {
    const state = stateAfter(
      { type: 'events', events: range(1, 9) },
      { type: 'reset' },
      { type: 'events', events: range(1, 2) },
    )
    expect(state.events.map(({ id }) => id)).toEqual([1, 2])
  })

  it('the connection is live with any message, and lost without one', () => {
    expect(INITIAL_STATE.connection).toBe('connecting')
    expect(stateAfter({ type: 'connection', is: 'lost' }).connection).toBe('lost')
    expect(stateAfter({ type: 'connection', is: 'lost' }, { type: 'survey', survey: survey('A') }).connection).toBe(
      'live',
    )
  })

  it('the page state shows that a lab is gone until the next one', () => {
    const gone = stateAfter({ type: 'survey', survey: survey('A') }, { type: 'gone', reason: 'there is no lab' })
    expect(gone).toMatchObject({ gone: 'there is no lab', connection: 'live' })
    expect(reduce(gone, { type: 'survey', survey: survey('A') })).not.toHaveProperty('gone')
  })

  it('the page state has each job once in its last state, and starts over with a new server', () => {
    const work = (id: number, state: PageJob['state']) => ({
      type: 'work' as const,
      work: {
        ...{ id, state, title: '', command: null, lines: [], outcome: '', tookMs: null },
        ...{ canBeStopped: false, drill: null },
      },
    })
    const state = stateAfter(work(1, 'running'), work(2, 'running'), work(1, 'done'))
    expect(state.jobs.map(({ id, state }) => [id, state])).toEqual([
      [1, 'done'],
      [2, 'running'],
    ])
    expect(reduce(state, { type: 'opened' }).jobs).toEqual([])
    let many = INITIAL_STATE
    for (let id = 1; id <= 100; id += 1) many = reduce(many, work(id, 'done'))
    expect([many.jobs.length, many.jobs.at(-1)?.id]).toEqual([20, 100])
  })

  it('the page state is stale without a lab, and current with the next one', () => {
    const before = stateAfter({ type: 'survey', survey: survey('A') })
    expect(isStale(before)).toBe(false)
    const without = reduce(before, { type: 'gone', reason: 'there is no lab' })
    expect(isStale(without)).toBe(true)
    expect(isStale(reduce(without, { type: 'survey', survey: survey('A') }))).toBe(false)
  })
})

describe('the filter of events', () => {
  const all = Object.keys(GROUPS) as Group[]
  const events = [
    event(1, { kind: 'role', cluster: 'A', text: 'dr: secondary -> primary' }),
    event(2, { kind: 'fault-set' }),
    event(3, { kind: 'process', cluster: 'B' }),
    event(4, { kind: 'never-heard-of' }),
  ]
  const idsOf = (groups: readonly Group[], cluster = '', text = '') =>
    filterEvents(events, { groups: new Set(groups), cluster, text }).map(({ id }) => id)

  it('the event filter shows all events, newest first', () => expect(idsOf(all)).toEqual([4, 3, 2, 1]))
  it('the event filter selects by kind', () => {
    expect(idsOf(['roles'])).toEqual([1])
    expect(idsOf(['servers'])).toEqual([3])
  })
  it('the event filter selects by cluster or whole lab', () => expect(idsOf(all, 'A')).toEqual([4, 2, 1]))
  it('the event filter selects by text in any case', () => expect(idsOf(all, '', ' PRIMARY')).toEqual([1]))
})
