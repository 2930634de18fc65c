import { describe, expect, it } from 'vitest'
import type { PageCluster, PageLink, PageNode, PageSurvey, PlannedLink } from '../../../src/lab/web/page-facts.js'
import {
  arrowsOf,
  detailOf,
  lagOf,
  nodeSignsOf,
  nodeStatusOf,
  rolesOf,
  signsOf,
  clusterStatusOf,
  walOf,
} from '../../../src/web/parts/words.js'
import { layOut, pathBetween, placeClusters } from '../../../src/web/picture/layout.js'

const dr = (primary: string, secondary: string): PlannedLink => ({ kind: 'dr', primary, secondary })
const performance = (primary: string, secondary: string): PlannedLink => ({ kind: 'performance', primary, secondary })

const fieldsOf = (names: string, planned: readonly PlannedLink[]) =>
  Object.fromEntries([...placeClusters([...names], planned)].map(([name, { column, row }]) => [name, [column, row]]))

const SIX = [performance('A', 'C'), performance('A', 'E'), dr('A', 'B'), dr('C', 'D'), dr('E', 'F')]

describe('the places of clusters', () => {
  it('DR secondaries are placed below their primary, and performance secondaries on both sides', () => {
    expect(fieldsOf('ABCDEF', SIX)).toEqual({ A: [1, 0], B: [1, 1], C: [2, 0], D: [2, 1], E: [0, 0], F: [0, 1] })
  })

  it('each cluster has its own position, whatever the links are', () => {
    const many = [...'BCDEFGHIJKL'].map((name, index) => (index % 3 === 0 ? dr('A', name) : performance('A', name)))
    const circle = [dr('A', 'B'), dr('B', 'A'), performance('C', 'C'), dr('X', 'D')]
    for (const [names, planned] of [
      ['ABCDEFGHIJKL', many],
      ['ABCD', circle],
      ['ABC', []],
    ] as const) {
      const fields = Object.values(fieldsOf(names, planned)).map(String)
      expect(fields).toHaveLength(names.length)
      expect(new Set(fields).size).toBe(names.length)
    }
  })

  it('missing clusters have no position', () => {
    expect(fieldsOf('A', [dr('A', 'B')])).toEqual({ A: [0, 0] })
  })
})

describe('the layout', () => {
  const places = placeClusters([...'ABCDEF'], SIX)

  it.each([
    [358, 0],
    [500, 3],
    [820, 0],
    [820, 5],
    [1200, 3],
    [3000, 0],
  ])('the layout separates boxes within %i pixels, with %i nodes', (width, nodes) => {
    const { boxes, height } = layOut(places, width, nodes)
    const all = [...boxes.values()]
    for (const [index, one] of all.entries()) {
      expect(one.x).toBeGreaterThanOrEqual(0)
      expect(one.x + one.width).toBeLessThanOrEqual(width)
      expect(one.y + one.height).toBeLessThanOrEqual(height)
      for (const other of all.slice(index + 1)) {
        const isApart =
          one.x + one.width < other.x ||
          other.x + other.width < one.x ||
          one.y + one.height < other.y ||
          other.y + other.height < one.y
        expect(isApart).toBe(true)
      }
    }
  })

  it('the layout stacks clusters on a narrow page', () => {
    expect([layOut(places, 358).isStacked, layOut(places, 820).isStacked]).toEqual([true, false])
  })

  it.each([358, 820])('arrows connect any two boxes at %i pixels, with labels inside the diagram', (width) => {
    const layout = layOut(places, width)
    for (const from of layout.boxes.values())
      for (const to of layout.boxes.values()) {
        if (from === to) continue
        const { line, words } = pathBetween(layout, from, to, 0)
        expect(line).toMatch(/^M[-\d. LC]+$/)
        expect(words.x).toBeGreaterThan(0)
        expect(words.x).toBeLessThan(width)
        expect(words.y).toBeLessThan(layout.height)
      }
  })
})

const NONE = { mode: 'disabled', state: '', lastWal: 0 }
const cluster = (name: string, more: Partial<PageCluster> = {}): PageCluster => ({
  name,
  apiAddress: `http://127.0.0.1/${name}`,
  process: 'running',
  isAnswering: true,
  isInitialized: true,
  isSealed: false,
  dr: NONE,
  performance: NONE,
  requests: null,
  nodes: null,
  problems: [],
  ...more,
})
const leads = { mode: 'primary', state: 'running', lastWal: 12 }
const follows = { mode: 'secondary', state: 'stream-wals', lastWal: 9 }

describe('the words of a cluster', () => {
  it.each([
    [cluster('A', { process: 'stopped', isAnswering: false }), 'stopped', 'away'],
    [cluster('A', { process: 'paused', isAnswering: false }), 'paused', 'away'],
    [cluster('A', { isAnswering: false }), 'unreachable', 'away'],
    [cluster('A', { isInitialized: false }), 'not initialized', 'away'],
    [cluster('A', { isSealed: true }), 'sealed', 'away'],
    [cluster('A', { dr: leads, performance: leads }), 'primary', 'primary'],
    [cluster('A', { dr: follows }), 'DR secondary', 'secondary'],
    [cluster('A', { dr: leads, performance: follows }), 'performance secondary', 'secondary'],
    [cluster('A', { dr: { ...NONE, mode: 'bootstrapping' } }), 'copying data', 'secondary'],
    [cluster('A'), 'no replication', 'plain'],
  ] as const)('the label of a cluster states its condition: %#', (view, word, look) => {
    expect(clusterStatusOf(view)).toEqual({ word, look })
  })

  it('the label of a cluster has its roles and further problems', () => {
    const both = cluster('A', { dr: leads, performance: leads })
    const mixed = cluster('C', { dr: leads, performance: follows })
    expect([rolesOf(both), detailOf(both)]).toEqual(['DR primary, performance primary', 'DR and performance'])
    expect([rolesOf(mixed), detailOf(mixed)]).toEqual(['DR primary, performance secondary', 'DR primary'])
    expect(detailOf(cluster('B', { dr: follows }))).toBe('')
    expect([walOf(mixed), walOf(cluster('A'))]).toEqual([12, undefined])
  })
})

const node = (more: Partial<PageNode>): PageNode => ({
  ...{ name: 'A1', apiAddress: 'http://127.0.0.1:1', process: 'running', state: 'standby', isActive: false },
  appliedIndex: 7,
  ...more,
})

describe('the words of a node', () => {
  it.each([
    [node({ state: 'active', isActive: true }), 'active', 'active'],
    [node({}), 'standby', 'plain'],
    [node({ state: 'performance-standby' }), 'performance standby', 'plain'],
    [node({ state: 'taking-over' }), 'taking over', 'away'],
    [node({ state: 'sealed' }), 'sealed', 'away'],
    [node({ state: 'silent' }), 'unreachable', 'away'],
    [node({ state: 'silent', process: 'paused' }), 'paused', 'away'],
    [node({ state: 'stopped', process: 'stopped' }), 'stopped', 'away'],
  ] as const)('%# is the state label of a node', (one, word, look) => {
    expect(nodeStatusOf(one)).toEqual({ word, look })
  })

  it('node labels have the signs of the faults of that node', () => {
    const cut = { id: 1, between: ['A1', 'A2'], isCut: true, sign: '✂', text: 'A1 <-> A2, partition' } as const
    expect(['A1', 'A2', 'A3'].map((name) => nodeSignsOf(name, [cut, cut]))).toEqual(['✂ cut', '✂ cut', ''])
    expect(nodeSignsOf('A1', null)).toBe('')
  })
})

const link: PageLink = {
  kind: 'dr',
  primary: 'A',
  secondary: 'B',
  state: 'stream-wals',
  connectionState: 'ready',
  lagEntries: 0,
  lagSeconds: 0,
}
const survey = (more: Partial<PageSurvey>): PageSurvey => ({
  lab: 'default',
  atMs: 0,
  topology: 'dr',
  planned: [dr('A', 'B')],
  clusters: [cluster('A'), cluster('B')],
  links: [link],
  faults: [],
  problems: [],
  hasEvents: true,
  actions: {},
  ...more,
})

describe('arrows', () => {
  it('arrows lead from primaries to their secondaries', () => {
    expect(arrowsOf(survey({}))).toEqual([
      expect.objectContaining({ primary: 'A', secondary: 'B', state: 'well', stateWords: '', lag: 'lag 0' }),
    ])
  })

  it('arrows show a partition, a latency and the state of the link', () => {
    const cut = { id: 1, between: ['B', 'A'], isCut: true, sign: '✂', text: 'A <-> B, partition' } as const
    const slow = { id: 2, between: ['A', 'B'], isCut: false, sign: '80 ms', text: 'A <-> B, latency 80 ms' } as const
    const elsewhere = { ...cut, between: ['A', 'C'] } as const
    const [arrow] = arrowsOf(survey({ faults: [cut, slow, slow, elsewhere] }))
    expect(arrow && [arrow.state, signsOf(arrow)]).toEqual(['cut', '✂ cut, 80 ms'])
    const [syncing] = arrowsOf(survey({ links: [{ ...link, state: 'merkle-sync' }] }))
    expect(syncing).toMatchObject({ state: 'working', stateWords: 'merkle-sync' })
    const [broken] = arrowsOf(survey({ links: [{ ...link, connectionState: 'transient_failure' }] }))
    expect(broken).toMatchObject({ state: 'working', stateWords: 'transient failure' })
    expect(arrowsOf(survey({ faults: null }))[0]?.state).toBe('cut')
  })

  it('arrows stay with an unreachable primary', () => {
    const lost = (lastPrimary?: string) =>
      survey({ links: [{ ...link, primary: null, ...(lastPrimary && { lastPrimary }), lagEntries: null }] })
    expect(arrowsOf(lost())).toEqual([])
    expect(arrowsOf(lost('A'))).toEqual([
      expect.objectContaining({ primary: 'A', state: 'cut', stateWords: 'primary unreachable', lag: 'lag ?' }),
    ])
    expect(arrowsOf(lost('Z'))).toEqual([])
  })

  it('arrows show the lag in entries and seconds', () => {
    expect(lagOf({ lagEntries: 1, lagSeconds: 0.44 })).toBe('lag 1 entry, 0.4 s')
    expect(lagOf({ lagEntries: 12, lagSeconds: 3 })).toBe('lag 12 entries, 3.0 s')
    expect(lagOf({ lagEntries: 9999, lagSeconds: 599 })).toBe('lag 9999 entries, 599.0 s')
    expect(lagOf({ lagEntries: 1_234_567, lagSeconds: 3600 })).toBe('lag 1.2M entries, 60 min')
    expect(lagOf({ lagEntries: 10_000, lagSeconds: 98_765 })).toBe('lag 10K entries, 27 h')
    expect(lagOf({ lagEntries: 3, lagSeconds: null }), 'nobody knows for how long').toBe('lag 3 entries')
  })
})
