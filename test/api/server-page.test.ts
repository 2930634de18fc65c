import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ask } from '../support/page-client.js'
import { freePorts } from '../support/local-config.js'
import { Program, STARTED, TestDirectory } from '../support/program.js'

/** Access to the page of a server, and its limits. The page itself is tested in a browser. */

const HTML = { accept: 'text/html,*/*;q=0.8' }
const place = new TestDirectory()
let dev: Program
let address: string

const start = async (more: object): Promise<{ program: Program; at: string }> => {
  const { api, cluster } = await freePorts()
  const config = place.write(
    `${api}.json`,
    JSON.stringify({
      listener: { tcp: { address: `127.0.0.1:${api}`, tls_disable: true, cluster_address: `127.0.0.1:${cluster}` } },
      storage: { inmem: {} },
      ...more,
    }),
  )
  const program = new Program(['server', `-config=${config}`])
  await program.untilPrinted(STARTED)
  return { program, at: `http://127.0.0.1:${api}` }
}

beforeAll(async () => {
  const { api } = await freePorts()
  address = `http://127.0.0.1:${api}`
  dev = new Program(['server', '-dev', `-dev-listen-address=127.0.0.1:${api}`])
  await dev.untilPrinted(STARTED)
})
afterAll(async () => {
  await dev?.[Symbol.asyncDispose]()
  place[Symbol.dispose]()
})

describe('the page of a server', () => {
  it.each(['/', '/ui', '/ui/vault/auth', '/ui/nothing'])('a server redirects a browser from %s', async (path) => {
    expect(await ask(address + path, HTML)).toMatchObject({ status: 307, headers: { location: '/ui/' }, text: '' })
  })

  it('a server answers other clients at the address of its page as before', async () => {
    expect(await ask(address, { accept: 'application/json' })).toMatchObject({
      status: 200,
      text: expect.stringContaining('/v1/sys/health'),
    })
    expect(await ask(`${address}/ui/nothing`)).toMatchObject({ status: 404 })
    for (const path of ['/ui/../package.json', '/ui/%2e%2e/main.js', '/ui/constructor'])
      expect((await ask(address + path)).status, path).toBeGreaterThanOrEqual(400)
  })

  it.each([
    ['/ui/', 'text/html; charset=utf-8'],
    ['/ui/page.js', 'text/javascript; charset=utf-8'],
    ['/ui/page.css', 'text/css; charset=utf-8'],
    ['/ui/icon.svg', 'image/svg+xml'],
  ])('the server page serves %s, which loads only its own files and forbids framing', async (path, type) => {
    const { status, headers, text } = await ask(address + path, HTML)
    expect(status).toBe(200)
    expect(headers).toMatchObject({
      'content-type': type,
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
      'cross-origin-resource-policy': 'same-origin',
      'cache-control': 'no-store',
    })
    const policy = String(headers['content-security-policy'])
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).not.toMatch(/unsafe|http|\*/)
    expect(headers['access-control-allow-origin']).toBeUndefined()
    expect(text.length).toBeGreaterThan(100)
  })

  it('a server serves its page only with "ui = true"', async () => {
    const [shown, hidden] = await Promise.all([start({ ui: true }), start({})])
    await using told = shown.program
    await using silent = hidden.program
    expect([told.stderr, silent.stderr].join()).not.toContain('without effect')
    expect(await ask(`${shown.at}/ui/`, HTML)).toMatchObject({ status: 200, text: expect.stringContaining('page.js') })
    expect(await ask(`${hidden.at}/ui/`, HTML)).toMatchObject({
      status: 200,
      text: expect.not.stringContaining('page.js'),
    })
    expect(await ask(`${hidden.at}/ui/page.js`, HTML)).toMatchObject({ status: 404 })
  })
})
