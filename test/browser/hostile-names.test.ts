import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import type { PageCluster, PageEvent, PageNode, PageSurvey } from '../../src/lab/web/page-facts.js'
import type { PageJob } from '../../src/lab/web/page-job.js'
import { BrowserPage } from '../support/browser-page.js'
import { hostile, serveHostilePage } from '../support/hostile-page.js'
import { LabHome } from '../support/lab-home.js'
import { freePorts } from '../support/local-config.js'
import { Program, STARTED, TestDirectory } from '../support/program.js'

/** Names and values that would run a script if a page treated them as markup, in a real browser. */

/** Checks that no script ran, no element was created, no request was sent, and the browser reported no violation. */
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
    ...{ name, apiAddress: texts('address'), process: 'running', isAnswering: true, isInitialized: true },
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
    splits: [{ kind: 'dr', between: [primary, secondary] }],
    problems: [texts('first-problem'), texts('second-problem')],
    losses: [
      {
        ...{ cluster: primary, entries: 2, paths: [texts('path')], pathsBeyond: 1 },
        ...{ restored: texts('restored'), command: texts('losses') },
      },
    ],
    actions: {},
  }
}

const eventOf = (texts: (note: string) => string): PageEvent => ({
  ...{ id: 1, time: '2026-01-01T00:00:00.000Z', cluster: texts('cluster-of-event'), kind: texts('kind') },
  ...{ text: texts('event'), command: texts('command'), step: { name: texts('step'), phase: 'running' } },
})

const workOf = (texts: (note: string) => string): PageJob => ({
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

describe('hostile text on the lab page', () => {
  it.each(hostile('x').map((_, index) => index))('the lab page shows hostile text as plain text: %i', async (index) => {
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
      'path',
      'restored',
      'losses',
    ])
      expect(shown, note).toContain(texts(note))
    await ui.page.getByRole('button', { name: 'Show as table' }).click()
    await ui.page.evaluate('for (const details of document.querySelectorAll("details")) details.open = true')
    await ui.page.getByLabel('Cluster', { exact: true }).selectOption({ index: 1 })
    expect(await ui.page.title()).toBe(`${texts('lab')} · Understudy`)
    await expectNothingRan(ui)
    await ui.page.getByRole('link', { name: texts('primary') }).click()
    await ui.see('main.inside')
    await expectNothingRan(ui)
    expect(
      page.requestedPaths.filter((url) => !/^\/(?:page\.(?:js|css)|icon\.svg|_understudy\/v1\/.*)?$/.test(url)),
    ).toEqual([])
    await ui.expectNoBarrier()
  })
})

const VIEWS = ['Mounts', 'Policies', 'AppRoles', 'Tokens', 'Audit', 'Secrets', 'Replication', 'Topology and events']
const WITH_KEYS = new Set(['Policies', 'AppRoles', 'Tokens', 'Secrets'])

describe('hostile text on the server page', () => {
  it('the server page shows hostile names as text, or the server rejects them', async () => {
    const [image = '', script = ''] = hostile('server')
    using directory = new TestDirectory()
    const { api, cluster } = await freePorts()
    const address = `http://127.0.0.1:${api}`
    const config = {
      ...{ ui: true, cluster_name: image, storage: { inmem: {} }, lab_api: true },
      listener: { tcp: { address: `127.0.0.1:${api}`, tls_disable: true, cluster_address: `127.0.0.1:${cluster}` } },
    }
    await using server = new Program(['server', `-config=${directory.write('hostile.json', JSON.stringify(config))}`])
    await server.untilPrinted(STARTED)
    let token = ''
    const send = async (at: string, body: object, method = 'POST') => {
      const answer = await fetch(`${address}/v1/${at}`, {
        method,
        headers: { 'X-Vault-Token': token },
        body: JSON.stringify(body),
      })
      return {
        status: answer.status,
        body: (answer.status === 204 ? {} : await answer.json()) as Record<string, unknown>,
      }
    }
    const made = await send('sys/init', { secret_shares: 1, secret_threshold: 1 })
    const { keys, root_token } = made.body as { keys: string[]; root_token: string }
    await send('sys/unseal', { key: keys[0] })
    token = root_token
    const name = encodeURIComponent(script.replaceAll('/', '|'))
    const accepted = async (...calls: readonly [string, object][]) => {
      for (const [at, body] of calls) expect((await send(at, body)).status, at).toBeLessThan(300)
    }
    await accepted(
      ['sys/mounts/kv', { type: 'kv', options: { version: '2' }, description: image }],
      ['sys/auth/approle', { type: 'approle', description: script }],
      [`kv/data/${name}`, { data: { [image]: script } }],
      [`sys/policies/acl/${name}`, { policy: `# ${script}\npath "x" {}` }],
      ['auth/approle/role/app', { token_policies: [script] }],
      ['auth/token/create', { display_name: script, meta: { [image]: script } }],
      ['sys/audit/kept', { type: 'file', options: { file_path: 'stdout' } }],
      ['sys/replication/dr/primary/enable', {}],
    )
    // The server may store or reject each of these. The page then shows what the server has.
    for (const [at, body] of [
      [`sys/mounts/${name}`, { type: 'kv' }],
      [`auth/approle/role/${name}`, { token_policies: [script] }],
      [`sys/audit/${name}`, { type: 'file', description: image, options: { file_path: 'discard' } }],
      ['sys/replication/dr/primary/secondary-token', { id: image }],
      [`sys/namespaces/${name}`, {}],
      [`auth/token/create/${name}`, {}],
    ] as const)
      expect([200, 204, 400, 404, 405], at).toContain((await send(at, body)).status)
    await using ui = new BrowserPage()
    await ui.goTo(address)
    // The title contains the cluster name after a separate request.
    await ui.seen(`document.title === ${JSON.stringify(`Replication · ${image} · Understudy`)}`)
    await ui.page.getByLabel('Token *').fill(script)
    await ui.page.getByLabel('Namespace').fill(image)
    await ui.press('Sign in')
    await ui.see('.login .error:not(:empty)')
    await expectNothingRan(ui)
    await ui.page.getByLabel('Namespace').fill('')
    await ui.page.getByLabel('Token *').fill(token)
    await ui.press('Sign in')
    await ui.see('.who')
    for (const view of VIEWS) {
      await ui.page.getByRole('link', { name: view, exact: true }).click()
      await ui.see(`nav a[aria-current]:text-is("${view}")`)
      if (view === 'Secrets') await ui.page.getByLabel('Engine').selectOption('kv/')
      if (WITH_KEYS.has(view)) {
        await ui.see('.keys .key')
        for (const key of await ui.page.locator('.keys .key').all()) {
          await key.click()
          await ui.see('.secret-view :is(dt, code, p:has-text("allows everything"))')
          await expectNothingRan(ui)
        }
      }
      if (view === 'Audit') {
        await ui.see('.audit-tail td:has-text("window.ran")')
        await ui.page
          .getByRole('button', { name: /^Show entry/ })
          .first()
          .click()
        await ui.see('.audit-tail code.text')
      }
      await expectNothingRan(ui)
      await ui.expectNoBarrier()
    }
    await ui.see('[data-cluster]')
    expect(await ui.page.locator('[data-cluster] .name').textContent()).toBe(image)
    await expectNothingRan(ui)
  })
})

describe('hostile names of labs', () => {
  it.each(hostile('name'))('up, drill and attach reject a hostile name: %s', async (name) => {
    await using home = new LabHome()
    const file = (kind: string, text: string) => {
      const at = path.join(home.directory, `${kind}.yaml`)
      writeFileSync(at, text)
      return at
    }
    const quoted = JSON.stringify(name)
    const head = 'apiVersion: understudy/v1\n'
    const topology = file('topology', `${head}kind: Topology\nname: t\nclusters:\n  ${quoted}: {}\n`)
    const drill = file('drill', `${head}kind: Drill\nname: ${quoted}\ntopology: dr\nsteps: [{ crash: A }]\n`)
    for (const args of [
      ['up', 'single', '--name', name],
      ['up', '-f', topology],
      ['drill', 'run', drill],
      ['attach', 'other', `${name}=http://127.0.0.1:1`],
    ])
      expect((await home.run(...args)).status, args.join(' ')).toBe(1)
  })
})
