import { existsSync, readFileSync } from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { type Browser, chromium, type Page } from 'playwright-core'
import { systemClock } from '../../../src/base/clock.js'
import type { PageCluster, PageEvent, PageSurvey } from '../../../src/lab/web/page-facts.js'
import { PAGE_HEADERS } from '../../../src/server/page-files.js'
import type { HourResult, PageJob } from '../page-jobs.js'

/** Measures the page of a lab in a real browser. Runs in its own process because it uses types of the browser. */

const CLUSTERS = 12
const EVENTS = 1000
const HOUR_S = 3600
/** Surveys that are sent between two checks that the page has drawn. */
const AT_ONCE = 20
const FIRST = `new MutationObserver((_, watch) => {
  if (!document.querySelector('[data-cluster]')) return
  watch.disconnect()
  requestAnimationFrame(() => { window.pictureMs = performance.now() })
}).observe(document, { childList: true, subtree: true })`

const TYPES: Readonly<Record<string, string>> = { html: 'text/html', js: 'text/javascript', css: 'text/css' }

const role = (mode: string, lastWal: number) => ({ mode, state: 'stream-wals', lastWal })
const nameOf = (index: number): string => String.fromCharCode(65 + index)

/** Returns the survey of a lab with one primary and eleven secondaries, `second` seconds after its start. */
const surveyAt = (second: number): PageSurvey => ({
  ...{
    lab: 'bench',
    topology: 'twelve',
    atMs: 1_767_225_600_000 + second * 1000,
    hasEvents: true,
    actions: { lab: [] },
  },
  planned: Array.from({ length: CLUSTERS - 1 }, (_, index) => ({
    ...{
      kind: index % 2 === 0 ? ('dr' as const) : ('performance' as const),
      primary: 'A',
      secondary: nameOf(index + 1),
    },
  })),
  clusters: Array.from(
    { length: CLUSTERS },
    (_, index): PageCluster => ({
      name: nameOf(index),
      apiAddress: `http://127.0.0.1:${8200 + index}`,
      process: 'running',
      isAnswering: true,
      isInitialized: true,
      isSealed: false,
      nodes: null,
      problems: [],
      dr: role(index === 0 ? 'primary' : index % 2 === 1 ? 'secondary' : 'disabled', second * 3),
      performance: role(index === 0 ? 'primary' : index % 2 === 0 ? 'secondary' : 'disabled', second * 3),
      requests: { server: nameOf(index), handled: second * (index + 1) * 7, refused: second },
    }),
  ),
  links: Array.from({ length: CLUSTERS - 1 }, (_, index) => ({
    ...{
      kind: index % 2 === 0 ? ('dr' as const) : ('performance' as const),
      primary: 'A',
      secondary: nameOf(index + 1),
    },
    state: 'stream-wals',
    connectionState: 'ready',
    lagEntries: (second + index) % 9,
    lagSeconds: 0.2,
  })),
  faults: [],
  splits: [],
  losses: [],
  problems: [],
})

const eventAt = (id: number, second: number): PageEvent => ({
  id,
  time: new Date(1_767_225_600_000 + second * 1000).toISOString(),
  cluster: nameOf(id % CLUSTERS),
  kind: 'call',
  text: `sys/policies/acl/number-${id}`,
  step: null,
  command: `vault policy write -address=http://127.0.0.1:8200 number-${id} -`,
})

/** Serves the built page, and a feed that this process writes. */
const serve = async (web: string) => {
  let feed: http.ServerResponse | undefined
  const server = http.createServer(({ url = '/' }, response) => {
    for (const [name, value] of Object.entries(PAGE_HEADERS)) response.setHeader(name, value)
    const file = path.join(web, path.basename(url === '/' ? 'index.html' : url))
    if (existsSync(file))
      return void response
        .writeHead(200, { 'Content-Type': TYPES[path.extname(file).slice(1)] ?? 'image/svg+xml' })
        .end(readFileSync(file))
    if (!url.endsWith('/events')) return void response.writeHead(404).end()
    feed = response.writeHead(200, { 'Content-Type': 'text/event-stream' })
    send('survey', surveyAt(0))
  })
  const send = (name: string, value: unknown) => feed?.write(`event: ${name}\ndata: ${JSON.stringify(value)}\n\n`)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    send,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

/** Returns the milliseconds from the end of the HTML until the diagram is drawn. */
const pictureMs = async (browser: Browser, link: string): Promise<number> => {
  const context = await browser.newContext({ viewport: { width: 1280, height: 720 } })
  const page = await context.newPage()
  await page.addInitScript(FIRST)
  await page.goto(link)
  await page.waitForSelector('[data-cluster]')
  // Polled from outside, because the content security policy of the page forbids evaluated code.
  while ((await page.evaluate('window.pictureMs')) === undefined) await systemClock.sleep(20)
  const ms = await page.evaluate("window.pictureMs - performance.getEntriesByType('navigation')[0].responseEnd")
  await context.close()
  return Number(ms)
}

/**
 * Returns the heap of the page in MB after a garbage collection, and the work of its thread in s since the first call.
 */
const metricsOf = async (page: Page) => {
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable')
  return async () => {
    await session.send('HeapProfiler.collectGarbage')
    const { metrics } = await session.send('Performance.getMetrics')
    const of = (name: string) => metrics.find((one) => one.name === name)?.value ?? Number.NaN
    return { heapMb: of('JSHeapUsedSize') / 1024 / 1024, workedS: of('TaskDuration'), elements: of('Nodes') }
  }
}

/**
 * Sends one hour of a lab with twelve clusters as fast as the page draws it. `web` is the directory of the built page.
 */
const measureHour = async (browser: Browser, web: string): Promise<HourResult> => {
  const feed = await serve(web)
  try {
    const page = await (await browser.newContext({ viewport: { width: 1280, height: 720 } })).newPage()
    await page.goto(feed.address)
    await page.waitForSelector('[data-cluster]')
    const drawn = () => page.evaluate('new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))')
    feed.send(
      'events',
      Array.from({ length: EVENTS }, (_, index) => eventAt(index + 1, 0)),
    )
    await drawn()
    const measure = await metricsOf(page)
    const before = await measure()
    for (let second = 1; second <= HOUR_S; second += 1) {
      feed.send('survey', surveyAt(second))
      feed.send('events', [eventAt(EVENTS + second, second)])
      if (second % AT_ONCE === 0) await drawn()
    }
    await drawn()
    const { heapMb, workedS, elements } = await measure()
    const workedMs = ((workedS - before.workedS) * 1000) / HOUR_S
    return { beforeMb: before.heapMb, afterMb: heapMb, elements, workedMs }
  } finally {
    feed.close()
  }
}

const [executablePath = ''] = process.argv.slice(2)
const browser = await chromium.launch({
  executablePath,
  args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'],
})

process.on('message', (job: PageJob) => {
  const work = 'picture' in job ? pictureMs(browser, job.picture) : measureHour(browser, job.hourOf)
  work.then(
    (answer) => process.send?.(answer),
    (error: unknown) => {
      console.error(error)
      process.exit(1)
    },
  )
})
process.once('disconnect', () => void browser.close().then(() => process.exit(0)))
