import { describe, expect, it } from 'vitest'
import type { PageCluster, PageLink, PageNode, PageSurvey, PlannedLink } from '../../../src/lab/web/page-facts.js'
import {
  arrowsOf,
  detailOf,
  isSplit,
  lagOf,
  nodeSignsOf,
  nodeStatusOf,
  rolesOf,
  signsOf,
  clusterStatusOf,
  statusSignOf,
  walOf,
} from '../../../src/web/parts/words.js'
import { placeClusters, stack } from '../../../src/web/diagram/places.js'
import {
  type Box,
  type Boxes,
  drawRoutes,
  fits,
  gridStyle,
  type Plan,
  planRoutes,
} from '../../../src/web/diagram/routes.js'

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

/** Lays out a plan as a browser does: each cluster is 200 x 140 pixels, with its labels at the top, 30 pixels each. */
const layOut = (plan: Plan): Boxes => {
  const { gridTemplateColumns, gridTemplateRows } = gridStyle(plan)
  const gaps = (style: string) => [...style.matchAll(/(\d+)px/g)].map(([, px]) => Number(px))
  const offset = (all: readonly number[], index: number, size: number) =>
    all.slice(0, index + 1).reduce((sum, gap) => sum + gap, index * size)
  const boxes = new Map<string, Box>()
  for (const [name, { column, row }] of plan.places) {
    const x = offset(gaps(gridTemplateColumns), column, 200)
    const y = offset(gaps(gridTemplateRows), row, 140)
    boxes.set(`cluster ${name}`, { x, y, width: 200, height: 140 })
    plan.routes
      .filter(({ link }) => link.secondary === name)
      .forEach(({ link }, index) => {
        boxes.set(`link ${link.key}`, { x, y: y + 30 * index, width: 200, height: 30 })
      })
  }
  return boxes
}

/** Returns the straight parts of a path with rounded corners, each as its left, top, right and bottom. */
const partsOf = (line: string) => {
  const points = [...line.matchAll(/(-?[\d.]+) (-?[\d.]+)/g)].map(([, x, y]) => [Number(x), Number(y)] as const)
  return points.slice(1).map(([x, y], index) => {
    const [fromX, fromY] = points[index] ?? [x, y]
    return [Math.min(x, fromX), Math.min(y, fromY), Math.max(x, fromX), Math.max(y, fromY)] as const
  })
}

const toLink = ({ kind, primary, secondary }: PlannedLink) =>
  ({ key: `${kind} ${secondary}`, primary, secondary, state: 'well' }) as const

const SPLIT = { ...toLink(dr('A', 'B')), key: 'split dr B', state: 'split' } as const
const CHAIN = [performance('A', 'C'), performance('C', 'E'), performance('E', 'G'), dr('G', 'H'), dr('A', 'B')]
const MANY = [...'BCDEFGHIJKL'].map((name, index) => (index % 2 === 0 ? dr('A', name) : performance('A', name)))

describe('the arrows', () => {
  const plans = [
    ['a primary and its secondaries', 'ABCDEF', SIX, SIX.map(toLink)],
    ['a DR secondary that became the primary', 'ABCDEF', SIX, [dr('B', 'A'), ...SIX.slice(0, 2)].map(toLink)],
    [
      'a primary at the edge with secondaries everywhere',
      'ABCDEF',
      SIX,
      [performance('F', 'C'), performance('F', 'D'), performance('F', 'A'), dr('F', 'B'), dr('F', 'E')].map(toLink),
    ],
    ['a chain', 'ABCEGH', CHAIN, CHAIN.map(toLink)],
    ['twelve clusters', 'ABCDEFGHIJKL', MANY, MANY.map(toLink)],
    ['both kinds between the same clusters', 'AB', [dr('A', 'B')], [dr('A', 'B'), performance('A', 'B')].map(toLink)],
    ['a split brain', 'ABC', [dr('A', 'B'), performance('A', 'C')], [toLink(performance('B', 'C')), SPLIT]],
  ] as const

  it.each(plans)('the arrows of %s cross no cluster and no label', (_, names, planned, links) => {
    const places = placeClusters([...names], planned)
    for (const plan of [planRoutes(places, links), planRoutes(stack(places), links)]) {
      const boxes = layOut(plan)
      const lines = drawRoutes(plan, boxes)
      expect([...lines.keys()]).toEqual(links.map(({ key }) => key))
      for (const [key, line] of lines)
        for (const [left, top, right, bottom] of partsOf(line)) {
          expect(
            [left, top].every((side) => side >= 0),
            `${key} is inside the diagram`,
          ).toBe(true)
          for (const [name, { x, y, width, height }] of boxes) {
            const isOutside = right <= x || left >= x + width || bottom <= y || top >= y + height
            expect(isOutside, `${key} beside ${name}: ${line}`).toBe(true)
          }
        }
    }
  })

  it.each(plans)('the arrows of %s have lanes of their own', (_, names, planned, links) => {
    const places = placeClusters([...names], planned)
    for (const plan of [planRoutes(places, links), planRoutes(stack(places), links)]) {
      const lines = [...drawRoutes(plan, layOut(plan)).values()].map(partsOf)
      for (const [index, line] of lines.entries())
        for (const [left, top, right, bottom] of line.filter((one) => one[0] === one[2]))
          for (const other of lines.slice(index + 1).flat()) {
            const isApart = other[0] !== other[2] || other[0] !== left || other[3] <= top || other[1] >= bottom
            expect(isApart, `${left} to ${right}, ${top} to ${bottom}`).toBe(true)
          }
    }
  })

  it('an arrow ends at the label of its link', () => {
    const plan = planRoutes(placeClusters([...'ABCDEF'], SIX), SIX.map(toLink))
    const boxes = layOut(plan)
    const lines = drawRoutes(plan, boxes)
    const [label, below] = [boxes.get('link performance C'), boxes.get('cluster B')]
    const end = (key: string) => lines.get(key)?.split(/[ML]/).at(-1)
    expect(end('performance C')).toBe(`${(label?.x ?? 0) - 12} ${(label?.y ?? 0) + 15}`)
    expect(end('dr B')).toBe(`${(below?.x ?? 0) + 100} ${(below?.y ?? 0) - 12}`)
  })

  it('an arrow without boxes is not drawn', () => {
    const plan = planRoutes(placeClusters(['A', 'B'], [dr('A', 'B')]), [toLink(dr('A', 'B')), toLink(dr('A', 'X'))])
    expect([...drawRoutes(plan, layOut(plan)).keys()]).toEqual(['dr B'])
    expect(drawRoutes(plan, new Map()).size).toBe(0)
  })

  it('columns need a minimum width', () => {
    const plan = planRoutes(placeClusters([...'ABCDEF'], SIX), SIX.map(toLink))
    expect([358, 848, 1296].map((width) => fits(plan, width))).toEqual([false, true, true])
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
    [cluster('A', { process: 'crashed', isAnswering: false }), 'crashed', 'away'],
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

  it('each status of a cluster that serves no requests has a sign of its own', () => {
    const words = ['stopped', 'crashed', 'paused', 'unreachable', 'sealed', 'not initialized']
    const signs = words.map((word) => statusSignOf({ word, look: 'away' }))
    expect(signs).not.toContain('')
    expect(new Set(signs).size).toBe(words.length)
    expect(statusSignOf({ word: 'primary', look: 'primary' })).toBe('')
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
    [node({ state: 'stopped', process: 'crashed' }), 'crashed', 'away'],
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
  splits: [],
  problems: [],
  losses: [],
  hasEvents: true,
  actions: {},
  ...more,
})

describe('arrows', () => {
  it('arrows lead from primaries to their secondaries', () => {
    expect(arrowsOf(survey({}))).toEqual([
      expect.objectContaining({ primary: 'A', secondary: 'B', state: 'well', stateText: '', lag: 'lag 0' }),
    ])
  })

  it('arrows show a partition, a latency and the state of the link', () => {
    const cut = { id: 1, between: ['B', 'A'], isCut: true, sign: '✂', text: 'A <-> B, partition' } as const
    const slow = { id: 2, between: ['A', 'B'], isCut: false, sign: '80 ms', text: 'A <-> B, latency 80 ms' } as const
    const elsewhere = { ...cut, between: ['A', 'C'] } as const
    const [arrow] = arrowsOf(survey({ faults: [cut, slow, slow, elsewhere] }))
    expect(arrow && [arrow.state, signsOf(arrow.faults)]).toEqual(['cut', '✂ cut, 80 ms'])
    const [syncing] = arrowsOf(survey({ links: [{ ...link, state: 'merkle-sync' }] }))
    expect(syncing).toMatchObject({ state: 'working', stateText: 'merkle-sync' })
    const [broken] = arrowsOf(survey({ links: [{ ...link, connectionState: 'transient_failure' }] }))
    expect(broken).toMatchObject({ state: 'working', stateText: 'transient failure' })
    expect(arrowsOf(survey({ faults: null }))[0]?.state).toBe('cut')
  })

  it('arrows stay with an unreachable primary', () => {
    const lost = (lastPrimary?: string) =>
      survey({ links: [{ ...link, primary: null, ...(lastPrimary && { lastPrimary }), lagEntries: null }] })
    expect(arrowsOf(lost())).toEqual([])
    expect(arrowsOf(lost('A'))).toEqual([
      expect.objectContaining({ primary: 'A', state: 'cut', stateText: 'primary unreachable', lag: 'lag ?' }),
    ])
    expect(arrowsOf(lost('Z'))).toEqual([])
  })

  it('arrows stay with a cluster that is down, with the reason and the faults of the link', () => {
    const cut = { id: 1, between: ['A', 'B'], isCut: true, sign: '✂', text: 'A <-> B, partition' } as const
    const down = { process: 'crashed', isAnswering: false } as const
    const lost = { ...link, primary: null, lastPrimary: 'A', lagEntries: null }
    for (const clusters of [
      [cluster('A', down), cluster('B')],
      [cluster('A', down), cluster('B', down)],
    ]) {
      const [arrow] = arrowsOf(survey({ clusters, links: [lost], faults: [cut] }))
      expect(arrow).toMatchObject({ primary: 'A', state: 'cut', stateText: 'A crashed', lag: '', faults: [cut] })
    }
    const [sealed] = arrowsOf(survey({ clusters: [cluster('A'), cluster('B', { isSealed: true })] }))
    expect(sealed).toMatchObject({ state: 'cut', stateText: 'B sealed' })
  })

  it('an arrow connects the primaries of a split brain', () => {
    const cut = { id: 1, between: ['B', 'A'], isCut: true, sign: '✂', text: 'A <-> B, partition' } as const
    const split = survey({ links: [], splits: [{ kind: 'dr', between: ['A', 'B'] }], faults: [cut] })
    expect(arrowsOf(split)).toEqual([
      expect.objectContaining({ primary: 'A', secondary: 'B', kind: 'dr', state: 'split', faults: [cut] }),
    ])
    expect(['A', 'B', 'C'].map((name) => isSplit(split, name))).toEqual([true, true, false])
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
