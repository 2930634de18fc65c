import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LabPage } from '../support/lab-page.js'
import { skipAfterFailure } from '../support/skip-after-failure.js'
import { until } from '../support/until.js'

/** Looking inside the clusters of a lab from its page, in a real browser. One story, told in the order of the tests. */

const PASSWORD = 'correct-horse-battery'

let lab: LabPage

skipAfterFailure()
beforeAll(async () => {
  lab = await LabPage.open('pr-dr', '--shamir', '3/2')
  await lab.see('.verdict.well')
})
afterAll(async () => {
  await lab?.[Symbol.asyncDispose]()
})

const access = (name: string) => {
  const found = lab.home.record('default').clusters.find((cluster) => cluster.name === name)
  if (!found) throw new Error(`there is no ${name}`)
  return found
}
const write = async (name: string, path: string, body: object) => {
  const { apiAddress, rootToken } = access(name)
  const headers = { 'X-Vault-Token': rootToken }
  const { status } = await fetch(`${apiAddress}/v1/${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
  expect(status, path).toBeLessThan(300)
}
const lookInside = (name: string) => lab.page.getByRole('link', { name: `Cluster ${name}`, exact: true }).click()
const view = (name: string) => lab.page.getByRole('link', { name, exact: true }).click()
const type = (label: string | RegExp, text: string) => lab.page.getByLabel(label).fill(text)
const logIn = async (token: string) => {
  await type('Token *', token)
  await lab.press('Sign in')
}
const act = async (name: string, filled: Readonly<Record<string, string>> = {}) => {
  await lab.press(name)
  await lab.see('dialog[open] form')
  for (const [label, text] of Object.entries(filled)) await lab.page.locator('dialog').getByLabel(label).fill(text)
}
const isClosed = () => lab.page.waitForSelector('dialog', { state: 'detached' })
const alert = (text: string) => lab.see(`[role=alert]:has-text("${text}")`)
const kindIs = (kind: string, mode: string) => lab.see(`.kind[data-kind="${kind}"][data-mode="${mode}"]`)
const secretText = () => lab.page.locator('.secret-view').innerText()

describe('inside a cluster', () => {
  it('replication is shown to everybody who has the page', async () => {
    await lookInside('A')
    await kindIs('dr', 'primary')
    await lab.see('.kind[data-kind="dr"] section[aria-label="Secondaries"] td:text-is("connected")')
    expect(await lab.page.locator('.kind[data-kind="dr"] dd').first().innerText()).toBe('primary')
    await lab.saveScreenshots('inside-login')
    await lab.expectNoBarrier()
  })

  it('whoever is refused is told why, and whoever logs in leaves no token behind', async () => {
    const { rootToken } = access('A')
    await logIn('hvs.wrong')
    await alert('permission denied')
    await logIn(rootToken)
    await lab.see('.who:has-text("root")')
    const kept = await lab.page.evaluate(
      '[document.cookie, JSON.stringify(localStorage), JSON.stringify(sessionStorage), document.title, location.href].join()',
    )
    expect(kept).not.toContain(rootToken)
    expect(lab.program.stdout + lab.program.stderr).not.toContain(rootToken)
  })

  it('a secret is written, changed, deleted and brought back', async () => {
    await write('A', 'sys/mounts/kv', { type: 'kv', options: { version: '2' } })
    await view('Secrets')
    await lab.page.getByLabel('Engine').selectOption('kv/')
    await act('New secret …', {
      'Name below kv/': 'app/db',
      'Values (JSON)': '{"user": "<b>u</b>", "big": 12345678901234567890}',
    })
    await lab.press('Submit')
    await isClosed()
    await lab.press('app/')
    await lab.press('db')
    await lab.see('.secret-view[data-version="1"]')
    expect(await secretText()).not.toContain('12345678901234567890')
    await lab.press('Show big')
    await lab.press('Show user')
    expect(await secretText()).toContain('12345678901234567890')
    expect(await secretText(), 'text is text').toContain('<b>u</b>')
    await lab.saveScreenshots('inside-secret')
    await lab.expectNoBarrier()
    await act('New version …')
    const editor = lab.page.locator('dialog textarea')
    expect(await editor.inputValue()).toContain('12345678901234567890')
    await editor.fill('{"user": "two"')
    await lab.press('Submit')
    await alert('Values (JSON)')
    await editor.fill('{"user": "two"}')
    await lab.see('dialog code:has-text("kv/data/app/db")')
    expect(await lab.page.locator('dialog .command code').innerText()).not.toContain('two')
    await lab.expectNoBarrier()
    await lab.press('Submit')
    await lab.see('.secret-view[data-version="2"]')
    await act('Delete … version 1')
    await lab.press('Confirm')
    await lab.see('tr[data-state="deleted"] th:text-is("1")')
    await lab.press('Undelete version 1')
    await lab.press('Submit')
    await lab.page.waitForSelector('tr[data-state="deleted"]', { state: 'detached' })
    await lab.press('Show version 1')
    await lab.see('.secret-view[data-version="1"]')
  })

  it('whoever wrote meanwhile is not overwritten', async () => {
    await act('New version …')
    await lab.page.locator('dialog textarea').fill('{"user": "three"}')
    await write('A', 'kv/data/app/db', { data: { user: 'somebody else' } })
    await lab.press('Submit')
    await alert('check-and-set')
    await lab.page.keyboard.press('Escape')
    await isClosed()
  })

  it('users and AppRoles log in, and see what they may', async () => {
    await write('A', 'sys/auth/userpass', { type: 'userpass' })
    await write('A', 'sys/policies/acl/reader', { policy: 'path "kv/data/app/*" { capabilities = ["read"] }' })
    await write('A', 'auth/userpass/users/ada', { password: PASSWORD, token_policies: 'reader' })
    await lab.press('Sign out')
    await lab.page.getByLabel('Method').selectOption('userpass')
    await type('Username *', 'ada')
    await type('Password *', PASSWORD)
    await lab.press('Sign in')
    await lab.see('.who:has-text("userpass ada (default, reader)")')
    await lab.page.getByLabel('Engine').selectOption('kv/')
    await lab.see('.kv .error:has-text("permission denied")')
    await type('Name', 'app/db')
    await lab.press('Open')
    await lab.see('.secret-view[data-version="3"]')
    await lab.press('Sign out')
    await lab.see('.login')
  })

  it('an activation token is generated, shown when that is wanted, and copied', async () => {
    await lab.page.getByLabel('Method').selectOption('token')
    await logIn(access('A').rootToken)
    await view('Replication')
    const dr = lab.page.locator('.kind[data-kind="dr"]')
    await dr.getByRole('button', { name: 'Generate an activation token …' }).click()
    await lab.page.locator('dialog').getByLabel('Secondary ID').fill('another')
    await lab.see('dialog code:has-text("secondary-token -d")')
    await lab.saveScreenshots('inside-act')
    await lab.press('Submit')
    await lab.press('Show token')
    expect(await lab.page.locator('dialog dd code').first().innerText()).toMatch(/^eyJ/)
    await lab.expectNoBarrier()
    await lab.press('Close')
    await isClosed()
  })

  it('a path filter is set and removed, and the secondary has what it leaves', async () => {
    const { stdout } = await lab.home.run('env', 'C', '--json')
    const { VAULT_TOKEN: token } = JSON.parse(stdout) as { VAULT_TOKEN: string }
    const hasKv = async () => {
      const headers = { 'X-Vault-Token': token }
      const answer = await fetch(`${access('C').apiAddress}/v1/sys/mounts`, { headers })
      expect(answer.status).toBe(200)
      return (await answer.text()).includes('"kv/"')
    }
    await until(hasKv)
    await act('Set the path filter … perf-c', { 'Paths of mounts and namespaces, one per line': 'kv/' })
    await lab.see('dialog code:has-text("paths-filter/perf-c")')
    await lab.expectNoBarrier()
    await lab.press('Confirm')
    await isClosed()
    await lab.see('.filter:text-is("deny: kv/")')
    await until(async () => !(await hasKv()))
    await act('Remove the path filter … perf-c')
    await lab.press('Submit')
    await isClosed()
    await lab.page.waitForSelector('.filter', { state: 'detached' })
    await until(hasKv)
  })

  it('a secondary is told another primary, with a token of that', async () => {
    const { apiAddress, rootToken } = access('A')
    const answer = await fetch(`${apiAddress}/v1/sys/replication/performance/primary/secondary-token`, {
      method: 'POST',
      headers: { 'X-Vault-Token': rootToken },
      body: JSON.stringify({ id: 'moved' }),
    })
    const { wrap_info: wrapped } = (await answer.json()) as { wrap_info: { token: string } }
    await lookInside('C')
    await lab.see('.login')
    const { stdout } = await lab.home.run('env', 'C', '--json')
    await logIn((JSON.parse(stdout) as { VAULT_TOKEN: string }).VAULT_TOKEN)
    await lab.see('.who:has-text("root")')
    await act('Update the primary …', { 'Activation token': wrapped.token })
    expect(await lab.page.locator('dialog .command code').innerText()).not.toContain(wrapped.token)
    await lab.press('Confirm')
    await lab.press('Close')
    await isClosed()
    await lab.see('.kind[data-kind="performance"] dd code:text-is("moved")')
    await lab.see('.kind[data-kind="performance"] dd code:text-is("stream-wals")')
  })

  it('a secondary is revoked, and follows again by a token that is generated and pasted', async () => {
    await lookInside('A')
    await kindIs('performance', 'primary')
    await act('Revoke … moved')
    await lab.press('Confirm')
    await isClosed()
    const performance = lab.page.locator('.kind[data-kind="performance"]')
    await performance.locator('th:text-is("moved")').waitFor({ state: 'detached' })
    await performance.getByRole('button', { name: 'Generate an activation token …' }).click()
    await lab.page.locator('dialog').getByLabel('Secondary ID').fill('again')
    await lab.press('Submit')
    await lab.press('Show token')
    const token = await lab.page.locator('dialog dd code').first().innerText()
    await lab.press('Close')
    await isClosed()
    await lookInside('C')
    await kindIs('performance', 'secondary')
    await performance.getByRole('button', { name: 'Disable …' }).click()
    await lab.press('Confirm')
    await isClosed()
    await kindIs('performance', 'disabled')
    await performance.getByRole('button', { name: 'Enable as secondary …' }).click()
    await lab.page.locator('dialog').getByLabel('Activation token').fill(token)
    expect(await lab.page.locator('dialog .command code').innerText()).not.toContain(token)
    await lab.press('Confirm')
    await kindIs('performance', 'secondary')
    await lab.see('.kind[data-kind="performance"] dd code:text-is("again")')
    await lab.see('.kind[data-kind="performance"] dd code:text-is("stream-wals")')
    await lab.page.keyboard.press('Escape')
    await isClosed()
  })

  it('an operation token is made share by share, and promotes a DR secondary', async () => {
    const name = 'B'
    await lookInside(name)
    await kindIs('dr', 'secondary')
    await lab.press('Generate an operation token')
    const { unsealKeys, threshold } = access(name)
    for (const [given, key] of unsealKeys.slice(0, threshold).entries()) {
      await lab.see(`.ceremony [role=status]:has-text("${given} of ${threshold} key shares")`)
      if (given === 0) await lab.saveScreenshots('inside-ceremony')
      await type('Key share', key)
      await lab.press('Submit share')
    }
    await lab.see('.ceremony .made')
    await lab.expectNoBarrier()
    const dr = lab.page.locator('.kind[data-kind="dr"]')
    await dr.getByRole('button', { name: 'Promote …' }).click()
    await lab.see('dialog code:has-text("dr_operation_token")')
    expect(await lab.page.locator('dialog .command code').innerText()).not.toContain('hvs.')
    await lab.press('Confirm')
    await kindIs('dr', 'primary')
  })

  it('gave the browser nothing to complain about', () => {
    expect(lab.errors).toEqual([])
  })
})
