import { expect, it } from 'vitest'
import type { PageCluster, PageEvent, PageLink, PageSurvey } from '../../src/lab/web/page-facts.js'
import { BrowserPage, NARROW, WIDE } from '../support/browser-page.js'
import { serveHostilePage } from '../support/hostile-page.js'

/** A lab of maximum size with very long names, in a real browser. */

const COUNT = 12
const EVENTS = 1000
const LONG = 'Donaudampfschifffahrtsgesellschaftskapitänsmützenhersteller'
const NAMES = Array.from({ length: COUNT }, (_, index) => `${LONG}-${index + 1}`)

const role = (mode: string) => ({ mode, state: 'running', lastWal: 1_234_567_890 })

const cluster = (name: string, index: number): PageCluster => ({
  ...{ name, apiAddress: `https://${LONG.toLowerCase()}-${index}.example:8200`, process: 'running' as const },
  ...{ isAnswering: true, isInitialized: true, isSealed: index === 3 },
  dr: role(index === 0 ? 'primary' : index % 2 === 1 ? 'secondary' : 'disabled'),
  performance: role(index === 0 ? 'primary' : index % 2 === 0 ? 'secondary' : 'disabled'),
  requests: { server: name, handled: 1_000_000, refused: 12 },
  nodes: null,
  problems: [],
})

const link = (secondary: string, index: number): PageLink => ({
  ...{ kind: index % 2 === 0 ? ('dr' as const) : ('performance' as const), primary: NAMES[0] ?? '', secondary },
  ...{ state: 'stream-wals', connectionState: 'transient_failure', lagEntries: 1_234_567, lagSeconds: 98_765.4 },
})

const links = NAMES.slice(1).map(link)

const survey: PageSurvey = {
  ...{ lab: LONG, topology: `${LONG}verband`, atMs: 1_700_000_000_000, hasEvents: true },
  planned: links.map(({ kind, primary, secondary }) => ({ kind, primary: primary ?? '', secondary })),
  clusters: NAMES.map(cluster),
  links,
  faults: [
    {
      ...{ id: 1, between: [NAMES[0] ?? '', NAMES[1] ?? ''] as const, isCut: true, sign: '✂' },
      text: `${NAMES[0]} <-> ${NAMES[1]}, partition`,
    },
  ],
  splits: [],
  problems: NAMES.map((name) => `${name} ist von seiner Primärreplikationsgruppe abgeschnitten`),
  losses: [
    {
      ...{ cluster: NAMES[0] ?? '', entries: 1_234_567, paths: [`kv/data/${LONG.repeat(3)}`], pathsBeyond: 1_234_566 },
      ...{ restored: '1234 tokens, 567 SecretIDs', command: `understudy losses ${NAMES[0]} --name ${LONG}` },
    },
  ],
  actions: { lab: [] },
}

const events: readonly PageEvent[] = Array.from({ length: EVENTS }, (_, index) => ({
  ...{ id: index + 1, time: new Date(1_700_000_000_000 + index * 1000).toISOString(), kind: 'note', step: null },
  ...{ cluster: NAMES[index % COUNT] ?? null, text: `${LONG.repeat(3)} ${index + 1}`, command: null },
}))

/** Returns the elements that overflow their box, boxes that overlap, and labels of arrows above the diagram. */
const CUT_OFF = `(() => {
  const boxes = [...document.querySelectorAll('.cluster')]
  const rect = (element) => element.getBoundingClientRect()
  const out = boxes.flatMap((box) => [...box.children].filter((part) =>
    rect(part).bottom > rect(box).bottom + 1 || rect(part).right > rect(box).right + 1 || rect(part).top < rect(box).top - 1))
  const over = boxes.flatMap((one, index) => boxes.slice(index + 1).filter((other) =>
    rect(one).left < rect(other).right && rect(other).left < rect(one).right &&
    rect(one).top < rect(other).bottom && rect(other).top < rect(one).bottom))
  const verdict = rect(document.querySelector('.verdict')).bottom
  const high = [...document.querySelectorAll('.words')].filter((words) => rect(words).top < verdict)
  return [...out, ...over, ...high].map((element) => element.className + ': ' + element.textContent)
})()`

it('the lab page shows twelve clusters with long names and a thousand events without overlaps', async () => {
  await using served = await serveHostilePage({ survey, events })
  await using ui = new BrowserPage()
  await ui.goTo(served.address)
  await ui.see('.connection.live')
  await ui.seen(`document.querySelectorAll('.timeline li').length === ${EVENTS}`)
  await ui.seen(`document.querySelectorAll('[data-cluster]').length === ${COUNT}`)
  await ui.saveScreenshots('long-words')
  await ui.expectNoBarrier()
  for (const size of [WIDE, NARROW]) {
    await ui.setAppearance('light', size)
    expect(await ui.page.evaluate(CUT_OFF), String(size.width)).toEqual([])
  }
  await ui.setAppearance('light', WIDE)
  await ui.page.getByRole('searchbox').fill(` ${EVENTS}`)
  await ui.seen("document.querySelectorAll('.timeline li').length === 1")
  expect(ui.errors).toEqual([])
})
