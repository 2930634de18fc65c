import { describe, expect, it } from 'vitest'
import type {
  PageCluster,
  PageLink,
  PageNode,
  PageRole,
  PageSurvey,
  PageVerb,
} from '../../../src/lab/web/page-facts.js'
import { type Offer, offersOf, type Subject } from '../../../src/web/actions/offers.js'

const role = (mode: string, state = ''): PageRole => ({ mode, state, lastWal: 0 })
const cluster = (name: string, more: Partial<PageCluster> = {}): PageCluster => ({
  ...{ name, apiAddress: 'http://127.0.0.1:1', process: 'running', isAnswering: true },
  ...{ isInitialised: true, isSealed: false, requests: null, nodes: null, problems: [] },
  ...{ dr: role('disabled'), performance: role('disabled') },
  ...more,
})
const link = (primary: string | null, secondary: string, kind: PageLink['kind'] = 'dr'): PageLink => ({
  ...{ kind, primary, secondary, state: 'stream-wals', connectionState: 'ready', lagEntries: 0, lagSeconds: 0 },
})

const node = (name: string, more: Partial<PageNode>): PageNode => ({
  ...{ name, apiAddress: 'http://127.0.0.1:1', process: 'running', state: 'standby', isActive: false, appliedIndex: 7 },
  ...more,
})

const ALL: readonly PageVerb[] = [
  ...(['start', 'stop', 'crash', 'pause', 'resume', 'seal', 'unseal', 'cut', 'latency', 'heal'] as const),
  ...([
    'promote',
    'demote',
    'failover',
    'switchover',
    'rejoin',
    'step-down',
    'drill',
    'save',
    'load',
    'reset',
  ] as const),
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
  it('the actions of a running cluster end it in several ways, and those of a stopped one start it', () => {
    const ends = ['crash', 'stop', 'pause', 'seal']
    expect(verbsOf('A', { clusters: [cluster('A')] })).toEqual(ends)
    expect(verbsOf('A', { clusters: [cluster('A', { isSealed: true })] })).toEqual(['crash', 'stop', 'pause', 'unseal'])
    expect(verbsOf('A', { clusters: [cluster('A', { process: 'stopped', isAnswering: false })] })).toEqual(['start'])
    expect(verbsOf('A', { clusters: [cluster('A', { process: 'paused', isAnswering: false })] })).toEqual([
      'resume',
      'crash',
    ])
  })

  it('the actions of a cluster include changes of its roles', () => {
    const lab = { clusters: [A, B, C], links }
    expect(verbsOf('A', lab).slice(0, 2)).toEqual(['demote dr', 'demote performance'])
    expect(verbsOf('B', lab).slice(0, 3)).toEqual(['failover A B', 'switchover A B', 'promote dr'])
    expect(verbsOf('C', lab).slice(0, 1)).toEqual(['promote performance'])
  })

  it('the actions for a lost primary include failover and no switchover', () => {
    const lab = { clusters: [cluster('A', { process: 'stopped', isAnswering: false }), B], links: [link(null, 'B')] }
    expect(verbsOf('B', { ...lab, primaries: { 'dr B': 'A' } }).slice(0, 2)).toEqual(['failover A B', 'promote dr'])
    expect(verbsOf('B', lab).slice(0, 1), 'nobody knows whom it followed').toEqual(['promote dr'])
  })

  it('the actions of a former primary without secondaries include rejoin', () => {
    const led = cluster('B', { dr: role('primary') })
    expect(verbsOf('A', { clusters: [A, led], links: [] })).toContain('rejoin A B')
    expect(verbsOf('A', { clusters: [cluster('A', { dr: role('secondary', 'idle') }), led] })).toContain('rejoin A B')
    expect(verbsOf('A', { clusters: [A, led], links: [link('A', 'D')] })).not.toContain('rejoin A B')
    expect(verbsOf('B', { clusters: [A, B], links })).not.toContain('rejoin B A')
  })

  it('the actions of a cluster with nodes concern all nodes, whichever run', () => {
    const nodes = [
      node('A1', { isActive: true, state: 'active' }),
      node('A2', { process: 'stopped', state: 'stopped' }),
    ]
    expect(verbsOf('A', { clusters: [cluster('A', { nodes })] })).toEqual(['start', 'unseal', 'crash', 'stop', 'seal'])
    const labels = offered({ of: 'cluster', name: 'A' }, { clusters: [cluster('A', { nodes })] }).map(
      ({ label }) => label,
    )
    expect(labels).toEqual(expect.arrayContaining(['Start all its nodes', 'Crash all its nodes …']))
  })

  it('a removed cluster has no actions', () => expect(verbsOf('Q', { clusters: [A] })).toEqual([]))
})

describe('what is offered for a node', () => {
  const nodes = [
    node('A1', { isActive: true, state: 'active' }),
    node('A2', { state: 'sealed' }),
    node('A3', { process: 'stopped', state: 'stopped' }),
    node('A4', { process: 'paused', state: 'silent' }),
  ]
  const offeredTo = (name: string) =>
    offered({ of: 'node', name }, { clusters: [cluster('A', { nodes })] }).map(
      ({ action: { verb, clusters } }) => `${verb} ${clusters.join()}`,
    )

  it('the actions of a node match its state and concern it alone', () => {
    expect(offeredTo('A1')).toEqual(['step-down A', 'crash A1', 'stop A1', 'pause A1', 'seal A1'])
    expect(offeredTo('A2')).toEqual(['crash A2', 'stop A2', 'pause A2', 'unseal A2'])
    expect(offeredTo('A3')).toEqual(['start A3'])
    expect(offeredTo('A4')).toEqual(['resume A4', 'crash A4'])
    expect(offeredTo('B1')).toEqual([])
  })
})

describe('what is offered', () => {
  it('the page offers only actions that the lab supports, and none in read-only mode', () => {
    expect(verbsOf('B', { clusters: [A, B], links, verbs: ['seal', 'promote'] })).toEqual(['promote dr', 'seal'])
    for (const subject of [{ of: 'cluster', name: 'A' }, { of: 'link', between: ['A', 'B'] }, { of: 'lab' }] as const)
      expect(offered(subject, { clusters: [A, B], links, verbs: [] })).toEqual([])
  })

  it('the actions of a link name its ends and ask for parameters', () => {
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
