import { execFile } from 'node:child_process'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BrowserPage } from '../support/browser-page.js'
import { freePorts } from '../support/local-config.js'
import { Program, STARTED } from '../support/program.js'
import { skipAfterFailure } from '../support/skip-after-failure.js'

/** The page of a single server in a real browser. The tests depend on each other. */

const EVIL = '<img src=x onerror="document.title=1"><script>document.title=1</script>'

let server: Program
let address: string
const ui = new BrowserPage()

skipAfterFailure()
beforeAll(async () => {
  const { api } = await freePorts()
  address = `http://127.0.0.1:${api}`
  server = new Program(['server', '-dev', '-dev-root-token-id=root', `-dev-listen-address=127.0.0.1:${api}`])
  await server.untilPrinted(STARTED)
  await ui.goTo(address)
})
afterAll(async () => {
  await ui[Symbol.asyncDispose]()
  await server?.[Symbol.asyncDispose]()
})

const send = async (path: string, body?: object) => {
  const { status } = await fetch(`${address}/v1/${path}`, {
    method: 'POST',
    headers: { 'X-Vault-Token': 'root' },
    ...(body && { body: JSON.stringify(body) }),
  })
  expect(status, path).toBeLessThan(300)
}
const view = async (name: string) => {
  await ui.page.getByRole('link', { name, exact: true }).click()
  await ui.see(`nav a[aria-current]:text-is("${name}")`)
}
const type = (label: string, text: string) => ui.page.getByLabel(label).fill(text)
const act = async (name: string, filled: Readonly<Record<string, string>> = {}) => {
  await ui.press(name)
  await ui.see('dialog[open] form')
  for (const [label, text] of Object.entries(filled)) await ui.page.locator('dialog').getByLabel(label).fill(text)
  await ui.page.locator('dialog button[type=submit]').click()
}
const isClosed = () => ui.page.waitForSelector('dialog', { state: 'detached' })

describe('the page of a server', () => {
  it('a browser that opens the address of a server gets its page', async () => {
    await ui.see('.connection.live')
    expect(ui.page.url()).toBe(`${address}/ui/`)
    await ui.see('.kind[data-kind="dr"][data-mode="disabled"]')
    await ui.saveScreenshots('server-login')
    await ui.expectNoBarrier()
  })

  it('the server page lists mounts and adds mounts', async () => {
    await type('Token *', 'root')
    await ui.press('Sign in')
    await ui.see('.who')
    await view('Mounts')
    await act('Enable AppRole …', { Description: EVIL })
    await isClosed()
    await ui.see('tr:has(th:text-is("approle/")) td:has-text("<img src=x")')
    await ui.saveScreenshots('mounts')
    await ui.expectNoBarrier()
  })

  it('the server page shows policies as text and changes them', async () => {
    await view('Policies')
    await act('New policy …', {
      Name: 'reader',
      'Policy *': `# ${EVIL}\npath "secret/data/*" { capabilities = ["read"] }`,
    })
    await isClosed()
    await ui.press('reader')
    await ui.see('code.text:has-text("<img src=x")')
    await ui.saveScreenshots('policies')
    await ui.expectNoBarrier()
    expect(await ui.page.locator('img, main script').count()).toBe(0)
  })

  let roleId = ''
  let secretId = ''
  it('the server page makes a role with its RoleID, and shows SecretIDs once', async () => {
    await view('AppRoles')
    await act('New role …', { Name: 'app', 'Token policies, one per line': 'reader' })
    await isClosed()
    await ui.press('app')
    await ui.see('[data-fact="role-id"]:has-text("-")')
    roleId = await ui.page.locator('[data-fact="role-id"]').innerText()
    await act('Generate a SecretID …')
    await ui.press('Show secret_id')
    secretId = await ui.page.locator('dialog dd code').first().innerText()
    expect(secretId).toMatch(/^[0-9a-f-]{36}$/)
    await ui.press('Close')
    await isClosed()
    await ui.see('.secret-view .keys li code')
    await ui.saveScreenshots('approles')
    await ui.expectNoBarrier()
  })

  it('a SecretID that the server page made lets any client log in', async () => {
    const { stdout } = await promisify(execFile)('curl', [
      ...['--silent', '--show-error', '--request', 'POST', `${address}/v1/auth/approle/login`],
      ...['--data', JSON.stringify({ role_id: roleId, secret_id: secretId })],
    ])
    expect(JSON.parse(stdout)).toMatchObject({
      auth: { policies: ['default', 'reader'], metadata: { role_name: 'app' } },
    })
  })

  it('the server page shows tokens by accessor and revokes one', async () => {
    await send('auth/token/create', { display_name: 'someone', policies: ['reader'] })
    await view('Tokens')
    const accessors = ui.page.locator('.keys .key')
    await accessors.first().waitFor()
    const before = await accessors.count()
    await accessors.first().click()
    await ui.see('.secret-view dt:text-is("policies")')
    expect(await ui.page.locator('.secret-view').innerText()).not.toContain('hvs.')
    await ui.saveScreenshots('tokens')
    await ui.expectNoBarrier()
    for (let index = 0; index < before; index += 1) {
      await accessors.nth(index).click()
      await ui.see('.secret-view dt:text-is("display_name")')
      if ((await ui.page.locator('.secret-view').innerText()).includes('token-someone')) break
    }
    await act('Revoke …')
    await isClosed()
    await ui.seen(`document.querySelectorAll('.keys .key').length === ${before - 1}`)
  })

  it('the server page shows audit devices and disables one', async () => {
    await view('Audit')
    await send('sys/audit/out', { type: 'file', options: { file_path: 'discard' } })
    await view('Mounts')
    await view('Audit')
    await ui.see('tr:has(th:text-is("out/")) td:text-is("discard")')
    await ui.saveScreenshots('audit')
    await ui.expectNoBarrier()
    await ui.see('.nothing:has-text("The audit devices write entries without hashing")')
    await act('Disable … out/')
    await isClosed()
    await ui.see('.nothing:has-text("No audit device is enabled")')
  })

  it('the server page shows the last audit lines as text and without secrets', async () => {
    await send('sys/audit/log', { type: 'file', options: { file_path: 'stdout' } })
    await send(`secret/data/${encodeURIComponent(EVIL)}`, { data: { word: 'swordfish' } })
    await view('Mounts')
    await view('Audit')
    await ui.see('.audit-tail td:has-text("<img src=x")')
    await type('Filter', 'onerror')
    await ui.seen(`[...document.querySelectorAll('.audit-tail tbody tr')].length === 2`)
    await ui.page
      .getByRole('button', { name: /^Show entry/ })
      .first()
      .click()
    await ui.see('.audit-tail code.text:has-text("hmac-sha256:")')
    expect(await ui.page.locator('.audit-tail').innerText()).not.toContain('swordfish')
    await ui.saveScreenshots('audit-tail')
    await ui.expectNoBarrier()
    await type('Filter', 'written-later')
    await ui.see('.audit-tail .nothing')
    await send('secret/data/written-later', { data: {} })
    await ui.press('Refresh')
    await ui.see('.audit-tail td:text-is("secret/data/written-later")')
    await act('Disable … log/')
    await isClosed()
  })

  it('the server page lets a role log in with the rights of its policy', async () => {
    await ui.press('Sign out')
    await ui.page.getByLabel('Method').selectOption('approle')
    await type('RoleID *', roleId)
    await type('SecretID', secretId)
    await ui.press('Sign in')
    await ui.see('.who:has-text("approle app (default, reader)")')
    await view('Tokens')
    await ui.see('.error:has-text("permission denied")')
    await ui.press('Sign out')
  })

  it('the server page shows its diagram, its charts and its events', async () => {
    await view('Topology and events')
    await ui.see('.connection.live')
    await ui.see('[data-cluster] .word:text-is("no replication")')
    await send('sys/replication/performance/primary/enable', {})
    await ui.see('[data-cluster].primary')
    await ui.see('.timeline li:has-text("performance: disabled -> primary")')
    await ui.see('.curve canvas')
    await ui.see('.facts-table td:text-is("primary")')
    await ui.saveScreenshots('server-picture')
    await ui.expectNoBarrier()
    await view('This cluster')
  })

  it('the server page reports a sealed server and unseals it', async () => {
    const key = /Unseal Key: (\S+)/.exec(server.stdout)?.[1] ?? ''
    await send('sys/seal')
    await ui.see('.gate [role=status]:has-text("sealed: 0 of 1")')
    await ui.saveScreenshots('sealed')
    await ui.expectNoBarrier()
    await type('Key share', key)
    await ui.press('Unseal')
    await ui.see('.login')
  })

  it('the server page cannot be framed, and other origins cannot read it', async () => {
    const other = http.createServer((_, response) => {
      response.setHeader('Content-Type', 'text/html').end(`<title>other</title><iframe src="${address}/ui/"></iframe>`)
    })
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
    const { port } = other.address() as AddressInfo
    const stranger = await ui.context.newPage()
    try {
      await stranger.goto(`http://localhost:${port}/`)
      const read = (path: string) =>
        stranger.evaluate(`fetch('${address}${path}').then((r) => r.text(), (e) => e.name)`)
      expect(await read('/ui/')).toBe('TypeError')
      expect(await read('/ui/page.js')).toBe('TypeError')
      expect(await read('/v1/sys/health')).toBe('TypeError')
      expect(await read('/_understudy/v1/events'), 'what happens').toBe('TypeError')
      await stranger.evaluate(
        `fetch('${address}/_understudy/v1/clock', { method: 'POST', mode: 'no-cors', body: '{"skew":"5m"}' })`,
      )
      const faults = await (await fetch(`${address}/_understudy/v1/faults`)).json()
      expect(faults, 'nothing is done for it').toMatchObject({ skew_ms: 0 })
      const framed = stranger.frames().filter((frame) => frame.url().includes('/ui/'))
      for (const frame of framed) expect(await frame.evaluate('document.body.innerText')).not.toContain('Sign in')
    } finally {
      await stranger.close()
      other.closeAllConnections()
      other.close()
    }
  })

  it('the server page causes no error in the browser console', () => {
    expect(ui.errors).toEqual([])
  })
})
