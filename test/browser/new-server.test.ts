import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BrowserPage } from '../support/browser-page.js'
import { freePorts } from '../support/local-config.js'
import { Program, STARTED, TestDirectory } from '../support/program.js'
import { skipAfterFailure } from '../support/skip-after-failure.js'

/** The page of an uninitialized server in a real browser. The tests depend on each other. */

let server: Program
let address: string
const directory = new TestDirectory()
const ui = new BrowserPage()

skipAfterFailure()
beforeAll(async () => {
  const { api, cluster } = await freePorts()
  address = `http://127.0.0.1:${api}`
  const listener = { tcp: { address: `127.0.0.1:${api}`, tls_disable: true, cluster_address: `127.0.0.1:${cluster}` } }
  const config = directory.write('new.json', JSON.stringify({ listener, storage: { inmem: {} }, ui: true }))
  server = new Program(['server', `-config=${config}`])
  await server.untilPrinted(STARTED)
  await ui.goTo(`${address}/ui/`)
})
afterAll(async () => {
  await ui[Symbol.asyncDispose]()
  await server?.[Symbol.asyncDispose]()
  directory[Symbol.dispose]()
})

const type = (label: string, text: string) => ui.page.getByLabel(label).fill(text)
const answered = async (name: string): Promise<string> => {
  await ui.press(`Show ${name}`)
  return ui.page
    .locator('.gate dl > div', { has: ui.page.locator(`dt:text-is("${name}")`) })
    .locator('code')
    .innerText()
}

describe('a new server', () => {
  let keys: string[] = []
  let rootToken = ''

  it('the server page initializes a new server and shows the keys once', async () => {
    await ui.see('.gate:has-text("This cluster is not initialized")')
    await ui.saveScreenshots('new')
    await ui.expectNoBarrier()
    await ui.press('Initialize …')
    await ui.page.locator('dialog').getByLabel('Key shares').fill('3')
    await ui.page.locator('dialog').getByLabel('Key threshold').fill('2')
    await ui.press('Initialize')
    await ui.see('.gate h3:has-text("shown only once")')
    await ui.saveScreenshots('new-keys')
    await ui.expectNoBarrier()
    keys = JSON.parse(await answered('keys')) as string[]
    rootToken = await answered('root_token')
    expect(keys).toHaveLength(3)
    await ui.press('Close')
    expect(await ui.page.locator('body').innerText()).not.toContain(keys[0])
  })

  it('the server page unseals a new server share by share, and logs in', async () => {
    await ui.see('.gate [role=status]:has-text("sealed: 0 of 2")')
    await type('Key share', keys[0] ?? '')
    await ui.press('Unseal')
    await ui.see('.gate [role=status]:has-text("sealed: 1 of 2")')
    await type('Key share', keys[2] ?? '')
    await ui.press('Unseal')
    await ui.see('.login')
    await type('Token *', rootToken)
    await ui.press('Sign in')
    await ui.see('.who:has-text("root")')
  })

  it('the server page leaves no secret in the address, the title, the browser storage or the log', async () => {
    const stored = await ui.page.evaluate(
      '[document.cookie, JSON.stringify(localStorage), JSON.stringify(sessionStorage), document.title, location.href].join()',
    )
    for (const secret of [rootToken, ...keys]) {
      expect(stored).not.toContain(secret)
      expect(server.stdout + server.stderr).not.toContain(secret)
    }
  })

  it('the page of a new server causes no error in the browser console', () => {
    expect(ui.errors).toEqual([])
  })
})
