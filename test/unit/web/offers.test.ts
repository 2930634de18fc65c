import { describe, expect, it } from 'vitest'
import type { PageCluster, PageLink, PageRole, PageSurvey, PageVerb } from '../../../src/lab/web/page-facts.js'
import { type Offer, offersOf, type Subject } from '../../../src/web/actions/offers.js'

const role = (mode: string, state = ''): PageRole => ({ mode, state, lastWal: 0 })
const cluster = (name: string, more: Partial<PageCluster> = {}): PageCluster => ({
  ...{ name, apiAddress: 'http://127.0.0.1:1', process: 'running', isAnswering: true },
  ...{ isInitialised: true, isSealed: false, requests: null, problems: [] },
  ...{ dr: role('disabled'), performance: role('disabled') },
  ...more,
})
const link = (primary: string | null, secondary: string, kind: PageLink['kind'] = 'dr'): PageLink => ({
  ...{ kind, primary, secondary, state: 'stream-wals', connectionState: 'ready', lagEntries: 0, lagSeconds: 0 },
})

const ALL: readonly PageVerb[] = [
  ...(['start', 'stop', 'crash', 'pause', 'resume', 'seal', 'unseal', 'cut', 'latency', 'heal'] as const),
  ...(['promote', 'demote', 'failover', 'switchover', 'rejoin', 'drill', 'save', 'load', 'reset'] as const),
]

interface Lab extends Partial<Pick<PageSurvey, 'clusters' | 'links' | 'verbs'>> {
  readonly primaries?: Readonly<Record<string, string>>
}

const offered = (subject: Subject, { primaries = {}, ...lab }: Lab = {}): readonly Offer[] =>
  offersOf(subject, { clusters: [], links: [], verbs: ALL, ...lab }, primaries)
const verbsOf = (name: string, lab: Lab) =>
  offered({ of: 'cluster', name }, lab).map(({ action: { verb, clusters, kind } }) =>
    [verb, ...(clusters.length === 2 ? clusters : []), ...(kind ? [kind] : [])].join(' '),
  )

const A = cluster('A', { dr: role('primary'), performance: role('primary') })
const B = cluster('B', { dr: role('secondary', 'stream-wals') })
const C = cluster('C', { performance: role('secondary', 'stream-wals') })
const links = [link('A', 'B'), link('A', 'C', 'performance')]

describe('what is offered for a cluster', () => {
  it('is to end it in several ways where it runs, and to begin where it does not', () => {
    const ends = ['crash', 'stop', 'pause', 'seal']
    expect(verbsOf('A', { clusters: [cluster('A')] })).toEqual(ends)
    expect(verbsOf('A', { clusters: [cluster('A', { isSealed: true })] })).toEqual(['crash', 'stop', 'pause', 'unseal'])
    expect(verbsOf('A', { clusters: [cluster('A', { process: 'stopped', isAnswering: false })] })).toEqual(['start'])
    expect(verbsOf('A', { clusters: [cluster('A', { process: 'paused', isAnswering: false })] })).toEqual([
      'resume',
      'crash',
    ])
  })

  it('is what changes the roles that it has', () => {
    const lab = { clusters: [A, B, C], links }
    expect(verbsOf('A', lab).slice(0, 2)).toEqual(['demote dr', 'demote performance'])
    expect(verbsOf('B', lab).slice(0, 3)).toEqual(['failover A B', 'switchover A B', 'promote dr'])
    expect(verbsOf('C', lab).slice(0, 1)).toEqual(['promote performance'])
  })

  it('is to fail over from a primary that is lost, and not to change places with it', () => {
    const lab = { clusters: [cluster('A', { process: 'stopped', isAnswering: false }), B], links: [link(null, 'B')] }
    expect(verbsOf('B', { ...lab, primaries: { 'dr B': 'A' } }).slice(0, 2)).toEqual(['failover A B', 'promote dr'])
    expect(verbsOf('B', lab).slice(0, 1), 'nobody knows whom it followed').toEqual(['promote dr'])
  })

  it('is to follow whoever leads now, for a former primary that nobody follows', () => {
    const led = cluster('B', { dr: role('primary') })
    expect(verbsOf('A', { clusters: [A, led], links: [] })).toContain('rejoin A B')
    expect(verbsOf('A', { clusters: [cluster('A', { dr: role('secondary', 'idle') }), led] })).toContain('rejoin A B')
    expect(verbsOf('A', { clusters: [A, led], links: [link('A', 'D')] })).not.toContain('rejoin A B')
    expect(verbsOf('B', { clusters: [A, B], links })).not.toContain('rejoin B A')
  })

  it('is nothing for one that is gone', () => expect(verbsOf('Q', { clusters: [A] })).toEqual([]))
})

describe('what is offered', () => {
  it('is only what the lab can do, and nothing where the page is only to look at', () => {
    expect(verbsOf('B', { clusters: [A, B], links, verbs: ['seal', 'promote'] })).toEqual(['promote dr', 'seal'])
    for (const subject of [{ of: 'cluster', name: 'A' }, { of: 'link', between: ['A', 'B'] }, { of: 'lab' }] as const)
      expect(offered(subject, { clusters: [A, B], links, verbs: [] })).toEqual([])
  })

  it('names the ends of a link, and asks for what a verb takes', () => {
    const of = offered({ of: 'link', between: ['A', 'C'] })
    expect(of.map(({ action }) => action.clusters)).toEqual([
      ['A', 'C'],
      ['A', 'C'],
      ['A', 'C'],
    ])
    expect(of.map(({ asks }) => asks)).toEqual([undefined, 'ms', undefined])
    expect(offered({ of: 'lab' }).map(({ asks }) => asks)).toEqual(['drill', 'new-snapshot', 'snapshot', undefined])
  })
})
