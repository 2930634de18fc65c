import { describe, expect, it } from 'vitest'
import type { PageCluster, PageEvent, PageNode, PageSurvey, PageWork } from '../../src/lab/web/page-facts.js'
import { BrowserPage } from '../support/browser-page.js'
import { hostile, serveHostilePage } from '../support/hostile-page.js'

/** Names and values that would run if they were taken for more than text, wherever one may be chosen, in a real browser. */

/** Nothing ran, nothing was made of it, nothing was asked for, and the policy had nothing to stop. */
const expectNothingRan = async (ui: BrowserPage) => {
  expect(await ui.page.evaluate('window.ran')).toBeUndefined()
  expect(await ui.page.locator('img, iframe, body script, [onerror], [onfocus], [autofocus]').count()).toBe(0)
  const links = await ui.page.evaluate(
    '[...document.querySelectorAll("[href]")].map((one) => one.getAttribute("href"))',
  )
  expect((links as string[]).filter((link) => !/^(?:#\/|page\.css$|icon\.svg$)/.test(link))).toEqual([])
  expect(ui.errors).toEqual([])
}

const role = (mode: string) => ({ mode, state: 'running', lastWal: 7 })

const surveyOf = (texts: (note: string) => string): PageSurvey => {
  const node = (name: string, isActive: boolean): PageNode => ({
    ...{ name, apiAddress: texts('node-address'), process: 'running', state: isActive ? 'active' : texts('state') },
    ...{ isActive, appliedIndex: 7 },
  })
  const cluster = (name: string, mode: string): PageCluster => ({
    ...{ name, apiAddress: texts('address'), process: 'running', isAnswering: true, isInitialised: true },
    ...{ isSealed: false, dr: role(mode), performance: role('disabled') },
    requests: { server: texts('server'), handled: 9, refused: 1 },
    nodes: [node(`${name} node`, true), node(texts('node'), false)],
    problems: [texts('problem')],
  })
  const [primary, secondary] = [texts('primary'), texts('secondary')]
  return {
    ...{ lab: texts('lab'), topology: texts('topology'), atMs: 1_700_000_000_000, hasEvents: true },
    planned: [{ kind: 'dr', primary, secondary }],
    clusters: [cluster(primary, 'primary'), cluster(secondary, 'secondary')],
    links: [
      {
        ...{ kind: 'dr', primary, secondary, state: texts('stream'), connectionState: texts('connection') },
        ...{ lagEntries: 3, lagSeconds: 1 },
      },
    ],
    faults: [{ id: 1, between: [primary, secondary], isCut: false, sign: texts('sign'), text: texts('fault') }],
    problems: [texts('first-problem'), texts('second-problem')],
    verbs: [],
  }
}

const eventOf = (texts: (note: string) => string): PageEvent => ({
  ...{ id: 1, time: '2026-01-01T00:00:00.000Z', cluster: texts('cluster-of-event'), kind: texts('kind') },
  ...{ text: texts('event'), command: texts('command'), step: { name: texts('step'), phase: 'running' } },
})

const workOf = (texts: (note: string) => string): PageWork => ({
  ...{ id: 1, title: texts('title'), command: texts('line'), state: 'failed', outcome: texts('outcome') },
  ...{ lines: [{ kind: 'call', text: texts('call') }], tookMs: 5, canBeStopped: false },
  drill: {
    ...{ name: texts('drill'), purpose: texts('about') },
    steps: [
      {
        ...{ name: texts('drill-step'), state: 'failed', tookMs: 1 },
        error: texts('error'),
        commands: [texts('curl')],
      },
    ],
    expectations: [{ text: texts('expectation'), passed: false, evidence: [texts('evidence')] }],
  },
})

describe('whatever the page of a lab is told', () => {
  it.each(hostile('x').map((_, index) => index))('is text and nothing else: %i', async (index) => {
    const texts = (note: string) => hostile(note)[index] ?? ''
    await using page = await serveHostilePage({
      survey: surveyOf(texts),
      events: [eventOf(texts)],
      work: workOf(texts),
    })
    await using ui = new BrowserPage()
    await ui.goTo(page.address)
    await ui.see('.connection.live')
    await ui.see('[data-cluster]')
    await ui.see('.timeline li')
    const shown = String(await ui.page.evaluate('document.body.textContent'))
    for (const note of [
      'lab',
      'topology',
      'primary',
      'secondary',
      'node',
      'sign',
      'first-problem',
      'event',
      'command',
      'title',
      'drill-step',
      'outcome',
    ])
      expect(shown, note).toContain(texts(note))
    await ui.page.getByRole('button', { name: 'Show the same as a table' }).click()
    await ui.page.evaluate('for (const details of document.querySelectorAll("details")) details.open = true')
    await ui.page.getByLabel('of which cluster').selectOption({ index: 1 })
    expect(await ui.page.title()).toBe(`${texts('lab')} · Understudy`)
    await expectNothingRan(ui)
    await ui.page.getByRole('link', { name: texts('primary') }).click()
    await ui.see('main.inside')
    await expectNothingRan(ui)
    expect(page.asked.filter((url) => !/^\/(?:page\.(?:js|css)|icon\.svg|_understudy\/v1\/.*)?$/.test(url))).toEqual([])
    await ui.expectNoBarrier()
  })
})
