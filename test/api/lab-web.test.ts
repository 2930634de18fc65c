import { readFileSync } from 'node:fs'
import path from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LabDaemonClient } from '../../src/lab/daemon/lab-daemon-client.js'
import { describeOwnApi } from '../../src/server/own-api/document.js'
import { LabHome } from '../support/lab-home.js'
import { ask, askRaw, Listener } from '../support/page-client.js'
import type { Program } from '../support/program.js'
import { until } from '../support/until.js'

/** The server of a lab's page: access control, and the data that it sends. The page itself is tested in a browser. */

interface Described {
  readonly responses: Readonly<Record<string, { readonly content?: object }>>
}

const WEB = path.join(import.meta.dirname, '..', '..', 'dist', 'web')
const BUNDLE_BYTES_MAX = 120 * 1024

let home: LabHome
let program: Program
let link: string
let origin: string
let cookie: string

const begin = async (): Promise<{ program: Program; link: string }> => {
  const begun = home.begin('web')
  await begun.untilPrinted('the link works once')
  return { program: begun, link: begun.stdout.trim() }
}

beforeAll(async () => {
  home = new LabHome()
  const up = await home.run('up', 'dr', '--ports', 'random')
  expect(up.status, up.stderr).toBe(0)
  const begun = await begin()
  program = begun.program
  link = begun.link
  origin = new URL(link).origin
})
afterAll(async () => {
  await program?.[Symbol.asyncDispose]()
  await home.run('down')
  await home[Symbol.asyncDispose]()
})

describe('who may look', () => {
  it('the lab page shows nothing without its link, and nothing with a wrong link', async () => {
    expect(new URL(link).hostname).toBe('127.0.0.1')
    for (const place of ['/', '/page.js', '/_understudy/v1/events', '/?token=', '/?token=wrong'])
      expect(await ask(origin + place)).toMatchObject({ status: 401, text: expect.stringContaining('understudy web') })
  })

  it('a prefetch or a HEAD request does not use up the link of the lab page', async () => {
    expect(await ask(link, { 'sec-purpose': 'prefetch' })).toMatchObject({ status: 503 })
    expect(await ask(link, {}, 'HEAD')).toMatchObject({ status: 405 })
  })

  it('the lab page gives a session to the first browser that opens the link, and to no other', async () => {
    const first = await ask(link)
    expect(first).toMatchObject({ status: 200, text: expect.stringContaining('content="0;url=/"') })
    const [set = ''] = first.headers['set-cookie'] ?? []
    expect(set).toMatch(/^understudy_page_\d+=[\w-]{43}; HttpOnly; SameSite=Strict; Path=\/$/)
    cookie = set.split(';')[0] ?? ''
    expect(await ask(link)).toMatchObject({ status: 401 })
    expect(await ask(origin, { cookie })).toMatchObject({ status: 200 })
    expect(await ask(link, { cookie }), 'the link in the history of the same browser').toMatchObject({ status: 200 })
    expect(await ask(origin, { cookie: cookie.replace(/.$/, '') })).toMatchObject({ status: 401 })
  })

  it('the lab page rejects other host names, origins and sites, even with the session', async () => {
    const refused = [
      { host: 'rebound.example' },
      { host: `rebound.example:${new URL(origin).port}` },
      { host: '127.0.0.1:1' },
      { origin: 'http://rebound.example' },
      { origin: 'null' },
      { origin: 'http://127.0.0.1:1' },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
    ]
    for (const path of ['page.js', '_understudy/v1/events', '_understudy/v1/clusters/A/v1/sys/mounts'])
      for (const headers of refused)
        expect(await ask(`${origin}/${path}`, { cookie, ...headers }), JSON.stringify(headers)).toMatchObject({
          status: 403,
        })
    expect(await ask(origin, { cookie, 'sec-fetch-site': 'cross-site' }), 'a link may lead here').toMatchObject({
      status: 200,
    })
    for (const headers of [
      { origin },
      { 'sec-fetch-site': 'same-origin' },
      { host: `localhost:${new URL(origin).port}` },
    ])
      expect(await ask(`${origin}/page.js`, { cookie, ...headers })).toMatchObject({ status: 200 })
  })

  it('the lab page lets the browser run its own script and nothing else', async () => {
    const { headers, text } = await ask(origin, { cookie })
    const policy = String(headers['content-security-policy'])
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).not.toMatch(/unsafe|http|\*/)
    expect(headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' })
    expect(text).not.toMatch(/https?:|\sstyle=|\son\w+=/)
    expect((await ask(origin)).headers['content-security-policy']).toBe(policy)
  })

  it('the lab page serves only its own files, and accepts only GET requests for them', async () => {
    expect(await ask(`${origin}/../package.json`, { cookie })).toMatchObject({ status: 404 })
    expect(await ask(`${origin}/constructor`, { cookie })).toMatchObject({ status: 404 })
    expect(await ask(`${origin}/_understudy/v1/events`, { cookie, origin }, 'POST')).toMatchObject({ status: 405 })
  })
})

describe('the way to a cluster', () => {
  const CLUSTERS = '/_understudy/v1/clusters'
  const tokenOf = () => home.record('default').clusters[0]?.rootToken ?? ''
  const through = (at: string, headers: Readonly<Record<string, string>> = {}, method = 'GET', body?: string) =>
    ask(origin + CLUSTERS + at, { cookie, ...headers }, method, body)

  it('the cluster proxy serves only the lab page', async () => {
    const place = `${origin}${CLUSTERS}/A/v1/sys/health`
    expect(await ask(place)).toMatchObject({ status: 401 })
    for (const headers of [
      { origin: 'http://127.0.0.1:1' },
      { 'sec-fetch-site': 'same-site' },
      { host: 'rebound.example' },
    ])
      expect(await ask(place, { cookie, ...headers })).toMatchObject({ status: 403 })
    expect(await ask(place, { cookie })).toMatchObject({
      status: 200,
      text: expect.stringContaining('"initialized":true'),
    })
  })

  it('the cluster proxy uses the token of the caller and adds none of its own', async () => {
    const mounts = '/A/v1/sys/mounts'
    expect(await through(mounts)).toMatchObject({ status: 403, text: expect.stringContaining('errors') })
    expect(await through(mounts, { 'x-understudy-token': 'x' })).toMatchObject({ status: 403 })
    const answer = await through(mounts, { 'x-vault-token': tokenOf() })
    expect(answer).toMatchObject({ status: 200, headers: { 'content-type': 'application/json; charset=utf-8' } })
    expect(answer.headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' })
    const written = await through(
      '/A/v1/sys/policies/acl/p%20q',
      { 'x-vault-token': tokenOf() },
      'POST',
      '{"policy":"path \\"x\\" {}"}',
    )
    expect(written.status).toBe(204)
    expect((await through('/A/v1/sys/policies/acl/p%20q', { 'x-vault-token': tokenOf() })).text).toContain(
      '"name":"p q"',
    )
  })

  it.each([
    '/A/v1/../../../_understudy/v1/info',
    '/A/v1/%2e%2e/_understudy/v1/info',
    '/A/v1/sys/%2E%2E/%2E%2E/_understudy/v1/info',
    '/A/v1//_understudy/v1/info',
    '/A/v1/..%2f_understudy/v1/info',
    '/A/_understudy/v1/info',
    '/A/v1/%E0%A4%A',
    '/Z/v1/sys/health',
    '/v1/sys/health',
  ])('the cluster proxy permits only the public API: %s', async (at) => {
    const target = new URL(origin)
    const { status, text } = await askRaw(target, CLUSTERS + at, cookie)
    // At most the public API is reached. It rejects a caller without a token, and redirects to a clean path below /v1.
    expect([307, 400, 403, 404]).toContain(status)
    expect(text).toContain(status === 307 ? 'href="/v1/_understudy/v1/info"' : 'errors')
  })

  it('the cluster proxy serves audit lines for reading, with the token of the caller', async () => {
    const tail = '/A/_understudy/v1/audit'
    expect(await ask(`${origin}${CLUSTERS}${tail}`)).toMatchObject({ status: 401 })
    expect(await through(tail)).toMatchObject({ status: 403, text: expect.stringContaining('errors') })
    expect(await through(tail, { 'x-vault-token': tokenOf() })).toMatchObject({
      status: 200,
      text: '{"kept":[],"lines":[]}',
    })
    expect(await through(tail, { 'x-vault-token': tokenOf() }, 'POST', '{}')).toMatchObject({ status: 405 })
    for (const other of ['info', 'faults', 'audit/x', '../v1/sys/mounts'])
      expect(await askRaw(new URL(origin), `${CLUSTERS}/A/_understudy/v1/${other}`, cookie)).toMatchObject({
        status: 400,
      })
  })

  it('the cluster proxy answers each method as its document describes', async () => {
    const described = describeOwnApi('0').paths as unknown as Record<string, Record<string, Described>>
    const verbs = described[`${CLUSTERS}/{cluster}/v1/{path}`] ?? {}
    const policy = '/A/v1/sys/policies/acl/described'
    for (const [method, at, body] of [
      ['post', policy, '{"policy":"path \\"x\\" {}"}'],
      ['put', policy, '{"policy":"path \\"y\\" {}"}'],
      ['get', policy],
      ['delete', policy],
    ] as const) {
      const { status, headers } = await through(at, { 'x-vault-token': tokenOf() }, method.toUpperCase(), body)
      const content = verbs[method]?.responses[String(status)]
      expect(content, `${method} ${status}`).toBeDefined()
      expect(Object.keys(content?.content ?? {})).toEqual(status === 204 ? [] : ['application/json'])
      if (status !== 204) expect(headers['content-type']).toContain('application/json')
    }
    expect(Object.keys(verbs).sort()).toEqual(['delete', 'get', 'post', 'put'])
  })

  it('the cluster proxy rejects other methods and endless bodies', async () => {
    expect(await through('/A/v1/sys/health', {}, 'TRACE')).toMatchObject({ status: 405 })
    expect(await through('/A/v1/kv/x', {}, 'POST', 'x'.repeat(1024 * 1024 + 1))).toMatchObject({ status: 400 })
  })

  it('the cluster proxy of a read-only page allows reads and logins', async () => {
    const begun = home.begin('web', '--read-only')
    await using other = begun
    await begun.untilPrinted('the link works once')
    const at = new URL(begun.stdout.trim())
    const [set = ''] = (await ask(at.href)).headers['set-cookie'] ?? []
    const send = (path: string, method: string) =>
      ask(
        `${at.origin}${CLUSTERS}/A/v1/${path}`,
        { cookie: set.split(';')[0], 'x-vault-token': tokenOf() },
        method,
        method === 'POST' ? '{}' : undefined,
      )
    expect(await send('sys/mounts', 'GET')).toMatchObject({ status: 200 })
    for (const path of ['sys/seal', 'sys/auth/login', 'auth/token/create'])
      expect(await send(path, 'POST'), path).toMatchObject({
        status: 403,
        text: expect.stringContaining('read-only'),
      })
    expect((await send('auth/userpass/login/ada', 'POST')).text).not.toContain('read-only')
    other.signal('SIGINT')
    expect(await other.end()).toBe(0)
  })
})

describe('what is sent', () => {
  const EVENTS = '/_understudy/v1/events'

  it('the event stream reports cluster status and events, without secrets', async () => {
    using listener = new Listener(origin + EVENTS, { cookie })
    await until(() => listener.survey !== undefined && listener.events.some(({ kind }) => kind === 'lab-up'))
    expect(listener.survey).toMatchObject({
      lab: 'default',
      topology: 'dr',
      planned: [{ kind: 'dr', primary: 'A', secondary: 'B' }],
      clusters: [
        { name: 'A', dr: { mode: 'primary' } },
        { name: 'B', dr: { mode: 'secondary' } },
      ],
      hasEvents: true,
    })
    const requestsOfA = () => listener.survey?.clusters[0]?.requests
    const { handled, refused } = requestsOfA() ?? { handled: 0, refused: 0 }
    expect(handled).toBeGreaterThan(refused)
    const [A] = home.record('default').clusters
    expect(await ask(`${A?.apiAddress}/v1/sys/policies/acl`)).toMatchObject({ status: 403 })
    await until(() => (requestsOfA()?.refused ?? 0) > refused)
    expect((await home.run('fault', 'partition', 'A', 'B')).status).toBe(0)
    await until(() => listener.survey?.faults?.[0]?.isCut === true)
    expect((await home.run('heal', '--all')).status).toBe(0)
    await until(() => listener.survey?.faults?.length === 0)
    expect(listener.events.map(({ kind }) => kind)).toEqual(expect.arrayContaining(['fault-set', 'fault-healed']))
    const secrets = home.record('default').clusters.flatMap(({ rootToken, unsealKeys }) => [rootToken, ...unsealKeys])
    for (const secret of secrets.filter((one) => one !== '')) expect(listener.text).not.toContain(secret)
  })

  it('the request counts of the event stream leave out the requests of the page and of the lab daemon', async () => {
    using listener = new Listener(origin + EVENTS, { cookie })
    const counts = () => listener.survey?.clusters[0]?.requests
    await until(() => counts() != null)
    const { handled = 0, refused = 0 } = counts() ?? {}
    const proxied = `${origin}/_understudy/v1/clusters/A/v1/sys/mounts`
    for (const _ of [1, 2, 3]) expect((await ask(proxied, { cookie })).status).toBe(403)
    const [A] = home.record('default').clusters
    expect((await ask(`${A?.apiAddress}/v1/sys/mounts`)).status).toBe(403)
    await until(() => (counts()?.handled ?? 0) > handled)
    expect(counts()).toMatchObject({ handled: handled + 1, refused: refused + 1 })
  })

  it('the event stream resumes after the last event that the browser has seen', async () => {
    await new LabDaemonClient(home.record('default').keeper.socket).append({
      kind: 'note',
      details: { text: 'a line\nand\r\n\r\nanother, data: x\u2028' },
    })
    using all = new Listener(origin + EVENTS, { cookie })
    await until(() => all.events.at(-1)?.text === 'a line\nand\r\n\r\nanother, data: x\u2028')
    const last = all.events.at(-1)?.id ?? 0
    using rest = new Listener(origin + EVENTS, { cookie, 'last-event-id': String(last - 1) })
    await until(() => rest.events.length > 0)
    expect(rest.events.map(({ id }) => id)).toEqual([last])
  })

  it('the event stream reports that the lab daemon does not respond, and continues after its return', async () => {
    using listener = new Listener(origin + EVENTS, { cookie })
    process.kill(home.record('default').keeper.process?.pid ?? 0, 'SIGKILL')
    await until(() => listener.survey?.faults === null)
    expect(listener.survey?.problems.join()).toContain('the lab daemon does not respond')
    expect((await home.run('start')).status).toBe(0)
    await until(() => listener.survey?.faults?.length === 0)
    await until(() => listener.events.filter(({ kind }) => kind === 'daemon-started').length === 2)
  })
})

it('the compressed files of the lab page fit their size budget', () => {
  const bytes = ['index.html', 'page.js', 'page.css', 'icon.svg'].map(
    (file) => gzipSync(readFileSync(path.join(WEB, file))).length,
  )
  expect(bytes.reduce((sum, one) => sum + one)).toBeLessThan(BUNDLE_BYTES_MAX)
})

describe('the command', () => {
  it('the web command rejects invalid arguments', async () => {
    expect(await home.run('web', 'nowhere')).toMatchObject({ status: 1, stderr: expect.stringContaining('nowhere') })
    expect(await home.run('web', '--port', '70000')).toMatchObject({ status: 1 })
    const { port } = new URL(origin)
    expect(await home.run('web', '--port', port)).toMatchObject({
      status: 5,
      stderr: `understudy: port ${port} is in use: choose another port with --port\n`,
    })
  })

  it('the web command continues after the lab ends, serves the next one, and exits with 0 when interrupted', async () => {
    const begun = await begin()
    await using second = begun.program
    const [set = ''] = (await ask(begun.link)).headers['set-cookie'] ?? []
    const at = new URL('/_understudy/v1/events', begun.link).href
    using listener = new Listener(at, { cookie: set.split(';')[0] })
    await until(() => listener.survey !== undefined)
    expect((await home.run('down')).status).toBe(0)
    await until(() => listener.gone !== undefined)
    expect(listener.gone?.reason).toContain('default')
    second.signal('SIGINT')
    expect(await second.end()).toBe(0)
  })
})
