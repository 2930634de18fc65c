import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { PageCluster, PageFault, PageLink, PageSurvey, PlannedLink } from '../../src/lab/web/page-facts.js'
import { BrowserPage, SIZES } from '../support/browser-page.js'
import { serveHostilePage } from '../support/hostile-page.js'

/** The topology diagram in all states of a lab, at the sizes of a laptop, a projector and a phone, in a real browser. */

const NO_ROLE = { mode: '-', state: '', lastWal: 0 }
const role = (mode: string) => ({ mode, state: 'running', lastWal: 4187 })
const dr = (primary: string, secondary: string): PlannedLink => ({ kind: 'dr', primary, secondary })
const performance = (primary: string, secondary: string): PlannedLink => ({ kind: 'performance', primary, secondary })

const PR_DR = [dr('A', 'B'), performance('A', 'C')]
const SIX = [performance('A', 'C'), performance('A', 'E'), dr('A', 'B'), dr('C', 'D'), dr('E', 'F')]

const toLink = (planned: PlannedLink): PageLink => ({
  ...planned,
  ...{ state: 'stream-wals', connectionState: 'ready', lagEntries: 12, lagSeconds: 3 },
})

/** Returns a cluster with its roles of a topology. */
const clusterIn = (planned: readonly PlannedLink[], name: string, index: number): PageCluster => {
  const modeOf = (kind: PlannedLink['kind']) => {
    const own = planned.filter((link) => link.kind === kind)
    if (own.some(({ secondary }) => secondary === name)) return role('secondary')
    return role(own.some(({ primary }) => primary === name) ? 'primary' : 'disabled')
  }
  return {
    ...{ name, apiAddress: `http://127.0.0.1:${8200 + 10 * index}`, process: 'running', isAnswering: true },
    ...{ isInitialized: true, isSealed: false, dr: modeOf('dr'), performance: modeOf('performance') },
    ...{ requests: null, nodes: null, problems: [] },
  }
}

const LINK_ACTIONS = [
  { label: 'Heal', title: 'Heal the link', verb: 'Heal', options: [], action: { verb: 'heal', clusters: ['A', 'B'] } },
] as const

const surveyOf = (planned: readonly PlannedLink[], more: Partial<PageSurvey> = {}): PageSurvey => {
  const names = [...new Set(planned.flatMap(({ primary, secondary }) => [primary, secondary]))].sort()
  return {
    ...{ lab: 'default', topology: 'pr-dr', atMs: 1_700_000_000_000, hasEvents: true, planned, faults: [], splits: [] },
    clusters: names.map((name, index) => clusterIn(planned, name, index)),
    links: planned.map(toLink),
    problems: [],
    losses: [],
    actions: { lab: [], 'link A B': LINK_ACTIONS },
    ...more,
  }
}

type Down = Partial<Pick<PageCluster, 'process' | 'isSealed' | 'isAnswering'>>
const CRASHED: Down = { process: 'crashed', isAnswering: false }
const STOPPED: Down = { process: 'stopped', isAnswering: false }
const PAUSED: Down = { process: 'paused', isAnswering: false }
const SEALED: Down = { isSealed: true }
const UNREACHABLE: Down = { isAnswering: false }

/** Returns a survey in which some clusters serve no requests. */
const withDown = (planned: readonly PlannedLink[], down: Readonly<Record<string, Down>>): PageSurvey => {
  const survey = surveyOf(planned)
  return {
    ...survey,
    clusters: survey.clusters.map((cluster) =>
      down[cluster.name] ? { ...cluster, dr: NO_ROLE, performance: NO_ROLE, ...down[cluster.name] } : cluster,
    ),
    links: survey.links.map((link) =>
      down[link.primary ?? '']
        ? {
            ...{ ...link, primary: null, ...(link.primary !== null && { lastPrimary: link.primary }) },
            ...{ connectionState: 'transient_failure', lagEntries: null, lagSeconds: null },
          }
        : link,
    ),
    problems: ['B is disconnected from its DR primary (transient_failure)', 'C follows no performance primary'],
  }
}

const CUT: PageFault = { id: 1, between: ['A', 'B'], isCut: true, sign: '✂', text: 'A <-> B, partition' }
const SLOW: PageFault = { id: 2, between: ['C', 'A'], isCut: false, sign: '250 ms', text: 'A <-> C, latency 250 ms' }

const cutLinks = (planned: readonly PlannedLink[]): PageSurvey =>
  surveyOf(planned, {
    faults: [CUT, SLOW],
    links: planned.map((link) => ({ ...toLink(link), connectionState: 'transient_failure', lagEntries: 1_234_567 })),
    problems: ['B is disconnected from its DR primary (transient_failure)', 'the link A <-> B has a fault (partition)'],
  })

const SPLIT_BRAIN: PageSurvey = surveyOf(PR_DR, {
  clusters: surveyOf([dr('A', 'X'), performance('A', 'C'), dr('B', 'Y'), performance('B', 'Z')]).clusters.filter(
    ({ name }) => 'ABC'.includes(name),
  ),
  links: [toLink(performance('A', 'C'))],
  splits: [
    { kind: 'dr', between: ['A', 'B'] },
    { kind: 'performance', between: ['A', 'B'] },
  ],
  faults: [CUT],
  problems: ['split brain: A and B are both DR primaries of one replication set', 'B rejects writes'],
})

const NODES: PageSurvey = surveyOf(PR_DR, {
  clusters: surveyOf(PR_DR).clusters.map((cluster) => ({
    ...cluster,
    nodes: ['active', 'performance-standby', 'stopped'].map((state, index) => ({
      ...{ name: `${cluster.name}${index + 1}`, apiAddress: 'http://127.0.0.1:1', state, isActive: index === 0 },
      ...{ process: index === 2 ? 'crashed' : 'running', appliedIndex: 7 },
    })),
  })),
})

const STATES: Readonly<Record<string, PageSurvey>> = {
  healthy: surveyOf(PR_DR),
  'six clusters': surveyOf(SIX),
  'six clusters with cut links': cutLinks(SIX),
  'a cut link': cutLinks(PR_DR),
  'a crashed primary': withDown(PR_DR, { A: CRASHED }),
  'a paused primary': withDown(PR_DR, { A: PAUSED }),
  'a stopped primary': withDown(PR_DR, { A: STOPPED }),
  'a sealed primary': withDown(PR_DR, { A: SEALED }),
  'six clusters that are down': withDown(SIX, {
    ...{ A: CRASHED, B: STOPPED, C: PAUSED, D: SEALED, E: UNREACHABLE },
  }),
  'a former DR secondary as the primary': surveyOf(PR_DR, {
    clusters: surveyOf([dr('B', 'A'), performance('B', 'C')]).clusters,
    links: [dr('B', 'A'), performance('B', 'C')].map(toLink),
  }),
  'a split brain': SPLIT_BRAIN,
  'clusters with nodes': NODES,
}

/**
 * Returns texts that are cut, outside their box or over another text, and arrows that cross a cluster or leave the diagram. The
 * ends of an arrow are beside its clusters, because the arrowhead is drawn past the end of the line.
 */
const FLAWS = `(() => {
  const rect = (element) => element.getBoundingClientRect()
  const isInside = (inner, outer) => inner.left >= outer.left - 1 && inner.right <= outer.right + 1 &&
    inner.top >= outer.top - 1 && inner.bottom <= outer.bottom + 1
  const isOver = (one, other) => one.left < other.right - 1 && other.left < one.right - 1 &&
    one.top < other.bottom - 1 && other.top < one.bottom - 1
  const say = (what, element) => what + ': ' + (element.dataset.arrow ?? element.textContent)
  const stage = document.querySelector('.stage')
  const cards = [...stage.querySelectorAll('[data-cluster]')]
  const texts = [...stage.querySelectorAll('.name, .word, .node-name, .facts > *, .words p > *, .node strong, button.do')]
    .filter((element) => element.textContent.trim() !== '')
  const banner = document.querySelector('.verdict')
  const blocks = [banner, ...document.querySelectorAll('.problems'), ...cards]
  const cut = [banner, stage, ...stage.querySelectorAll('div, p, span, b, strong, button')]
    .filter((element) => element.clientWidth > 0 && !element.matches('.unseen'))
    .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
  const crossing = [...stage.querySelectorAll('path[data-arrow]')].filter((path) => {
    const { left, top } = rect(stage)
    const length = path.getTotalLength()
    const { x, y, width, height } = path.getBBox()
    const box = { left: left + x, top: top + y, right: left + x + width, bottom: top + y + height }
    if (length === 0 || !isInside(box, rect(stage))) return true
    return Array.from({ length: Math.ceil(length / 3) }, (_, index) => path.getPointAtLength(3 * index)).some((point) =>
      cards.some((card) => {
        const { left: from, top: above, right, bottom } = rect(card)
        return left + point.x > from + 1 && left + point.x < right - 1 && top + point.y > above + 1 && top + point.y < bottom - 1
      }))
  })
  return [
    ...cut.map((element) => say('cut off', element)),
    ...texts.filter((text) => !isInside(rect(text), rect(text.closest('.words, .node, [data-cluster]'))))
      .map((text) => say('outside its box', text)),
    ...[texts, blocks].flatMap((all) => all.flatMap((one, index) => all.slice(index + 1)
      .filter((other) => isOver(rect(one), rect(other))).map((other) => say(say('over', one) + ' and', other)))),
    ...crossing.map((path) => say('crosses', path)),
  ]
})()`

let served: Awaited<ReturnType<typeof serveHostilePage>>
const ui = new BrowserPage()

beforeAll(async () => {
  served = await serveHostilePage({ survey: surveyOf(PR_DR), events: [] })
  await ui.goTo(served.address)
  await ui.setAppearance('light', SIZES[0])
})
afterAll(async () => {
  await ui[Symbol.asyncDispose]()
  await served?.[Symbol.asyncDispose]()
})

let shown = 1_700_000_000_000
/** Shows a survey, and waits until all its arrows are drawn. */
const show = async (survey: PageSurvey) => {
  shown += 1000
  const marked = { ...survey, atMs: shown, lab: `lab-${shown}` }
  served.send({ survey: marked })
  await ui.see(`h1 .lab:text-is("${marked.lab}")`)
}

describe('the topology diagram', () => {
  it.each(Object.keys(STATES))('the diagram of %s has no overlap and no cut text at any size', async (name) => {
    await show(STATES[name] ?? surveyOf(PR_DR))
    for (const size of SIZES) {
      await ui.setAppearance('light', size)
      expect(await ui.page.evaluate(FLAWS), `${size.width} pixels`).toEqual([])
      expect(await ui.page.evaluate('document.documentElement.scrollWidth'), 'nothing sticks out').toBe(size.width)
    }
    await ui.saveScreenshots(name.replaceAll(' ', '-'))
  })

  it('the diagram distinguishes the reasons why clusters serve no requests by word, sign and border', async () => {
    await show(STATES['six clusters that are down'] ?? surveyOf(SIX))
    const looks = (await ui.page.evaluate(`[...document.querySelectorAll('[data-cluster].away')].map((card) => [
      card.querySelector('.word').textContent.trim(),
      getComputedStyle(card).borderTopStyle + getComputedStyle(card).borderTopColor,
    ])`)) as [string, string][]
    expect(looks.map(([text]) => text)).toEqual(['✗ crashed', '■ stopped', '‖ paused', '⊘ sealed', '? unreachable'])
    expect(new Set(looks.map(([, border]) => border)).size).toBe(5)
  })

  it('a crashed primary keeps its arrows, their faults and their actions', async () => {
    await show({ ...withDown(PR_DR, { A: CRASHED }), faults: [CUT] })
    await ui.see('path[data-arrow="A dr B"].cut')
    await ui.see('[data-cluster="B"] .words:has-text("A crashed") strong:text-is("✂ cut")')
    await ui.page.getByRole('button', { name: 'Actions for the DR link from A to B' }).click()
    await ui.see('dialog[open] button:text-is("Heal")')
    await ui.page.keyboard.press('Escape')
    await ui.page.waitForSelector('dialog', { state: 'detached' })
  })

  it('a split brain is on both clusters, on the arrow and in the first line', async () => {
    await show(SPLIT_BRAIN)
    for (const name of ['A', 'B']) await ui.see(`[data-cluster="${name}"] .facts strong:has-text("split brain")`)
    await ui.see('path[data-arrow="A dr B"].split')
    await ui.see('[data-cluster="B"] .words:has-text("split brain with A")')
    await ui.see('.verdict.bad:has-text("split brain: A and B")')
    expect(await ui.page.locator('[data-cluster="C"] .facts strong').count()).toBe(0)
  })

  it('the diagram grows with the page', async () => {
    await show(surveyOf(PR_DR))
    const measure = () =>
      ui.page.evaluate(`(() => {
        const card = document.querySelector('[data-cluster="A"]')
        return [card.clientWidth, parseFloat(getComputedStyle(card.querySelector('.name')).fontSize)]
      })()`) as Promise<[number, number]>
    await ui.setAppearance('light', SIZES[0])
    const [width, size] = await measure()
    await ui.setAppearance('light', SIZES[1])
    const [larger, sizeOfLarger] = await measure()
    expect([larger > width, sizeOfLarger > size]).toEqual([true, true])
  })

  it('the diagram has no accessibility barrier and causes no error in the browser console', async () => {
    for (const name of ['six clusters that are down', 'a split brain', 'clusters with nodes']) {
      await show(STATES[name] ?? surveyOf(SIX))
      await ui.expectNoBarrier()
    }
    expect(ui.errors).toEqual([])
  })
})
