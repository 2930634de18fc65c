import { describe, expect, it } from 'vitest'
import type { AnyLab } from '../../../src/lab/model/cluster.js'
import { availableActions } from '../../../src/lab/web/actions/available.js'
import { describeSurvey } from '../../../src/lab/web/server/describe-page.js'
import type {
  AvailableAction,
  PageCluster,
  PageLink,
  PageNode,
  PageRole,
  PageSurvey,
} from '../../../src/lab/web/page-facts.js'
import { NO_STATUS } from '../../../src/lab/requests/replication-status.js'

const role = (mode: string, state = ''): PageRole => ({ mode, state, lastWal: 0 })
const cluster = (name: string, more: Partial<PageCluster> = {}): PageCluster => ({
  ...{ name, apiAddress: 'http://127.0.0.1:1', process: 'running', isAnswering: true },
  ...{ isInitialized: true, isSealed: false, requests: null, nodes: null, problems: [] },
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

const OWN = { clusters: [], keeper: {} } as unknown as AnyLab
const WITH_NODES = { clusters: [{ nodes: [] }], keeper: {} } as unknown as AnyLab
const ATTACHED = { state: 'attached', clusters: [{}] } as unknown as AnyLab

interface Known {
  readonly clusters?: readonly PageCluster[]
  readonly links?: readonly PageLink[]
  readonly splits?: PageSurvey['splits']
  readonly lab?: AnyLab
}

const offered = (
  subject: string,
  { lab = OWN, clusters = [], links = [], splits = [] }: Known = {},
): readonly AvailableAction[] => availableActions(lab, { clusters, links, splits })[subject] ?? []
const verbsOf = (name: string, known: Known) =>
  offered(`cluster ${name}`, known).map(({ action: { verb, clusters, kind } }) =>
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
    for (const process of ['stopped', 'crashed'] as const)
      expect(verbsOf('A', { clusters: [cluster('A', { process, isAnswering: false })] })).toEqual(['start'])
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
    const clusters = [cluster('A', { process: 'stopped', isAnswering: false }), B]
    const lost = link(null, 'B')
    const known = { clusters, links: [{ ...lost, lastPrimary: 'A' }] }
    expect(verbsOf('B', known).slice(0, 2)).toEqual(['failover A B', 'promote dr'])
    expect(verbsOf('B', { clusters, links: [lost] }).slice(0, 1), 'its primary is unknown').toEqual(['promote dr'])
  })

  const down = { process: 'crashed', health: null, dr: NO_STATUS, performance: NO_STATUS } as const
  const leads = (name: string, knownSecondaries: readonly string[] = []) => ({
    ...{ ...down, name, process: 'running', health: 200 },
    dr: { ...NO_STATUS, mode: 'primary', clusterId: 'one', knownSecondaries },
  })
  const surveyAfter = (before: readonly PageLink[], more: object) => {
    const survey = { clusters: [], links: [], faults: [], problems: [], ...more } as never
    return describeSurvey({ topology: 'dr' } as never, survey, { atMs: 0, servers: new Map(), losses: [], before })
  }

  it('the server of the page remembers the primary of a cluster while that primary does not answer', () => {
    const linksAfter = (before: readonly PageLink[], primary: string | null) =>
      surveyAfter(before, { links: [link(primary, 'B')] }).links
    const lost = linksAfter(linksAfter([], 'A'), null)
    expect(lost).toMatchObject([{ primary: null, lastPrimary: 'A' }])
    expect(linksAfter(lost, null)).toMatchObject([{ primary: null, lastPrimary: 'A' }])
    expect(linksAfter([], null)[0]).not.toHaveProperty('lastPrimary')
    expect(linksAfter(lost, 'C')[0]).not.toHaveProperty('lastPrimary')
  })

  it('a cluster that follows no primary any more has no last primary', () => {
    const dr = { ...NO_STATUS, mode: 'secondary', state: 'idle' }
    const clusters = [leads('A'), { ...down, name: 'B', process: 'running', health: 200, dr }]
    const { links } = surveyAfter([link('A', 'B')], { clusters, links: [link(null, 'B')] })
    expect(links).toMatchObject([{ primary: null, secondary: 'B' }])
    expect(links[0]).not.toHaveProperty('lastPrimary')
  })

  it('a cluster that is down keeps its link and the actions of the link', () => {
    const dead = (name: string) => ({ ...down, name })
    const expected = surveyAfter([], { clusters: [leads('A', ['dr-b']), dead('B')] })
    expect(expected.links).toMatchObject([{ primary: 'A', secondary: 'B', lagEntries: null }])
    const both = surveyAfter([], { clusters: [dead('A'), dead('B')] })
    expect(both.links, 'as planned').toMatchObject([{ primary: null, lastPrimary: 'A', secondary: 'B' }])
    const over = surveyAfter([link('B', 'A')], { clusters: [dead('A'), dead('B')] })
    expect(over.links, 'as last seen').toMatchObject([{ primary: null, lastPrimary: 'B', secondary: 'A' }])
    expect(surveyAfter([link('A', 'B')], { clusters: [dead('A'), leads('B')] }).links, 'a primary').toEqual([])
    for (const { links } of [expected, both])
      expect(offered('link A B', { links }).map(({ label }) => label)).toContain('Heal')
  })

  it('the primaries of a split brain are a pair with the actions of a link', () => {
    const { splits } = surveyAfter([], { clusters: [leads('A'), leads('B'), leads('C')] })
    expect(splits).toEqual([
      { kind: 'dr', between: ['A', 'B'] },
      { kind: 'dr', between: ['A', 'C'] },
    ])
    expect(offered('link A B', { splits }).map(({ label }) => label)).toContain('Heal')
    expect(surveyAfter([], { clusters: [leads('A'), { ...down, name: 'B' }] }).splits).toEqual([])
  })

  it('the actions of a former primary without secondaries include rejoin', () => {
    const led = cluster('B', { dr: role('primary') })
    expect(verbsOf('A', { clusters: [A, led], links: [] })).toContain('rejoin A B')
    expect(verbsOf('A', { clusters: [cluster('A', { dr: role('secondary', 'idle') }), led] })).toContain('rejoin A B')
    expect(verbsOf('A', { clusters: [A, led], links: [link('A', 'D')] })).not.toContain('rejoin A B')
    expect(verbsOf('B', { clusters: [A, B], links })).not.toContain('rejoin B A')
    const ofSet = (clusterId: string) => ({ dr: { ...role('primary'), clusterId } })
    const sets = (one: string, other: string) => [cluster('A', ofSet(one)), cluster('B', ofSet(other))]
    expect(verbsOf('A', { clusters: sets('s', 's') })).toContain('rejoin A B')
    expect(verbsOf('A', { clusters: sets('s', 't') }), 'of another set').not.toContain('rejoin A B')
  })

  it('the actions of a cluster with nodes concern all nodes, whichever run', () => {
    const nodes = [
      node('A1', { isActive: true, state: 'active' }),
      node('A2', { process: 'stopped', state: 'stopped' }),
    ]
    expect(verbsOf('A', { clusters: [cluster('A', { nodes })] })).toEqual(['start', 'unseal', 'crash', 'stop', 'seal'])
    const labels = offered('cluster A', { clusters: [cluster('A', { nodes })] }).map(({ label }) => label)
    expect(labels).toEqual(expect.arrayContaining(['Start all nodes', 'Crash all nodes …']))
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
    offered(`node ${name}`, { lab: WITH_NODES, clusters: [cluster('A', { nodes })] }).map(
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
  it('the page offers only actions that the lab supports', () => {
    const clusters = [A, B]
    expect(verbsOf('B', { clusters, links, lab: ATTACHED })).toEqual([
      'failover A B',
      'switchover A B',
      'promote dr',
      'seal',
    ])
    expect(offered('link A B', { clusters, links, lab: ATTACHED })).toEqual([])
    const withDaemon = { ...ATTACHED, keeper: { socket: 'http://127.0.0.1:8475' } } as AnyLab
    expect(offered('link A B', { clusters, links, lab: withDaemon })).toHaveLength(3)
    expect(offered('lab', { lab: ATTACHED }).map(({ label }) => label)).toEqual(['Run a drill …'])
    expect(offered('lab', { lab: WITH_NODES }).map(({ label }) => label)).toEqual(['Run a drill …'])
    const inProcess = { isInProcess: true, clusters: [] } as unknown as AnyLab
    expect(verbsOf('A', { clusters: [cluster('A')], lab: inProcess })).toEqual(['crash', 'stop', 'seal'])
  })

  it('the actions of a link name its ends and ask for parameters', () => {
    const of = offered('link A C', { links })
    expect(of.map(({ action }) => action.clusters)).toEqual([
      ['A', 'C'],
      ['A', 'C'],
      ['A', 'C'],
    ])
    expect(of.map(({ asks }) => asks)).toEqual([undefined, 'ms', undefined])
    expect(offered('lab').map(({ asks }) => asks)).toEqual(['drill', 'new-snapshot', 'snapshot', undefined])
  })

  it('the actions that may lose data can be forced', () => {
    const known = { clusters: [A, B], links }
    const labelsWith = (field: string) =>
      offered('cluster B', known).flatMap(({ label, options }) =>
        options.some((option) => option.field === field) ? [label] : [],
      )
    expect(labelsWith('isForced')).toEqual(['Fail over to B …', 'Promote to DR primary …'])
    expect(labelsWith('acceptsLoss'), 'a switchover loses nothing').toEqual(['Fail over to B …'])
  })

  it('each action names the title and the verb of its dialog, and the consequence of each option', () => {
    const [failover] = offered('cluster B', { clusters: [A, B], links })
    expect(failover).toMatchObject({ title: 'Fail over to B', verb: 'Fail over' })
    expect(failover?.options.map(({ label, consequence }) => [label, consequence])).toEqual([
      ['Accept any loss', 'If A is down, entries that B lacks are lost.'],
      ['Force', expect.stringContaining('A is not demoted: if it is running, there are two primaries')],
    ])
    const latency = offered('link A B', { links }).find(({ asks }) => asks === 'ms')
    expect(latency).toMatchObject({ label: 'Add latency …', title: 'Add latency between A and B', verb: 'Add latency' })
    expect(offered('lab')[0]).toMatchObject({ label: 'Run a drill …', title: 'Run a drill', verb: 'Run' })
  })
})
