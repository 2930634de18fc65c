import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LabPage } from '../support/lab-page.js'
import { skipAfterFailure } from '../support/skip-after-failure.js'
import { until } from '../support/until.js'

/** The view of a cluster on the lab page in a real browser. The tests depend on each other. */

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
const openCluster = (name: string) => lab.page.getByRole('link', { name: `Cluster ${name}`, exact: true }).click()
const view = (name: string) => lab.page.getByRole('link', { name, exact: true }).click()
const type = (label: string | RegExp, text: string) => lab.page.getByLabel(label).fill(text)
const logIn = async (token: string) => {
  await type('Token *', token)
  await lab.press('Sign in')
}
const startAction = async (name: string, filled: Readonly<Record<string, string>> = {}) => {
  await lab.press(name)
  await lab.see('dialog[open] form')
  for (const [label, text] of Object.entries(filled)) await lab.page.locator('dialog').getByLabel(label).fill(text)
}
const isClosed = () => lab.page.waitForSelector('dialog', { state: 'detached' })
const expectAlert = (text: string) => lab.see(`[role=alert]:has-text("${text}")`)
const kindIs = (kind: string, mode: string) => lab.see(`.kind[data-kind="${kind}"][data-mode="${mode}"]`)
const secretText = () => lab.page.locator('.secret-view').innerText()

describe('the cluster view of the lab page', () => {
  it('the cluster view shows replication without a login', async () => {
    await openCluster('A')
    await kindIs('dr', 'primary')
    await lab.see('.kind[data-kind="dr"] section[aria-label="Secondaries"] td:text-is("connected")')
    expect(await lab.page.locator('.kind[data-kind="dr"] dd').first().innerText()).toBe('primary')
    await lab.saveScreenshots('inside-login')
    await lab.expectNoBarrier()
  })

  it('the cluster view shows why a login failed, and a login leaves no token in the browser or in the output', async () => {
    const { rootToken } = access('A')
    await logIn('hvs.wrong')
    await expectAlert('permission denied')
    await logIn(rootToken)
    await lab.see('.who:has-text("root")')
    const stored = await lab.page.evaluate(
      '[document.cookie, JSON.stringify(localStorage), JSON.stringify(sessionStorage), document.title, location.href].join()',
    )
    expect(stored).not.toContain(rootToken)
    expect(lab.program.stdout + lab.program.stderr).not.toContain(rootToken)
  })

  it('the cluster view creates, changes, deletes and undeletes a secret', async () => {
    await write('A', 'sys/mounts/kv', { type: 'kv', options: { version: '2' } })
    await view('Secrets')
    await lab.page.getByLabel('Engine').selectOption('kv/')
    await startAction('New secret …', {
      'Name below kv/': 'app/db',
      'Values (JSON)': '{"user": "<b>u</b>", "big": 12345678901234567890}',
    })
    await lab.press('New secret')
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
    await startAction('New version …')
    const editor = lab.page.locator('dialog textarea')
    expect(await editor.inputValue()).toContain('12345678901234567890')
    await editor.fill('{"user": "two"')
    await lab.press('New version')
    await expectAlert('Values (JSON)')
    await editor.fill('{"user": "two"}')
    await lab.see('dialog code:has-text("kv/data/app/db")')
    expect(await lab.page.locator('dialog .command code').innerText()).not.toContain('two')
    await lab.expectNoBarrier()
    await lab.press('New version')
    await lab.see('.secret-view[data-version="2"]')
    await startAction('Delete … version 1')
    await lab.press('Delete')
    await lab.see('tr[data-state="deleted"] th:text-is("1")')
    await lab.press('Undelete version 1')
    await lab.press('Undelete')
    await lab.page.waitForSelector('tr[data-state="deleted"]', { state: 'detached' })
    await lab.press('Show version 1')
    await lab.see('.secret-view[data-version="1"]')
  })

  it('each view of a cluster has its own address, title and history, also after a reload', async () => {
    expect(new URL(lab.page.url()).hash).toBe('#/A/secrets/kv/app/db')
    expect(await lab.page.title()).toBe('Secrets · A · default · Understudy')
    await lab.page.goBack()
    await lab.page.waitForSelector('.secret-view', { state: 'detached' })
    expect(new URL(lab.page.url()).hash).toBe('#/A/secrets/kv/app/')
    await lab.page.goForward()
    await lab.see('.secret-view')
    await lab.page.reload()
    await lab.see('.login')
    expect(new URL(lab.page.url()).hash).toBe('#/A/secrets/kv/app/db')
  })

  it('the cluster view signs in with the root token of the lab by one click', async () => {
    await lab.saveScreenshots('inside-root')
    await lab.press('Sign in with the root token of the lab')
    await lab.see('.who:has-text("root")')
    await lab.see('.secret-view[data-version="2"]')
    expect(await lab.page.content()).not.toContain(access('A').rootToken)
  })

  it('the cluster view does not overwrite a concurrent change of a secret', async () => {
    await startAction('New version …')
    await lab.page.locator('dialog textarea').fill('{"user": "three"}')
    await write('A', 'kv/data/app/db', { data: { user: 'another client' } })
    await lab.press('New version')
    await expectAlert('check-and-set')
    await lab.page.keyboard.press('Escape')
    await isClosed()
  })

  it('the cluster view lets a user log in and shows only what the user may read', async () => {
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

  it('the cluster view generates an activation token and shows it on request', async () => {
    await lab.page.getByLabel('Method').selectOption('token')
    await lab.press('Sign in with the root token of the lab')
    await view('Replication')
    const dr = lab.page.locator('.kind[data-kind="dr"]')
    await dr.getByRole('button', { name: 'Generate an activation token …' }).click()
    await lab.page.locator('dialog').getByLabel('Secondary ID').fill('another')
    await lab.see('dialog code:has-text("secondary-token -d")')
    await lab.saveScreenshots('cluster-view-action')
    await lab.press('Generate an activation token')
    await lab.press('Show token')
    expect(await lab.page.locator('dialog dd code').first().innerText()).toMatch(/^eyJ/)
    await lab.expectNoBarrier()
    await lab.press('Close')
    await isClosed()
  })

  it('the cluster view sets and removes a path filter', async () => {
    const { stdout } = await lab.home.run('env', 'C', '--json')
    const { VAULT_TOKEN: token } = JSON.parse(stdout) as { VAULT_TOKEN: string }
    const hasKv = async () => {
      const headers = { 'X-Vault-Token': token }
      const answer = await fetch(`${access('C').apiAddress}/v1/sys/mounts`, { headers })
      expect(answer.status).toBe(200)
      return (await answer.text()).includes('"kv/"')
    }
    await until(hasKv)
    await startAction('Set the path filter … perf-c', { 'Paths of mounts and namespaces, one per line': 'kv/' })
    await lab.see('dialog code:has-text("paths-filter/perf-c")')
    await lab.expectNoBarrier()
    await lab.press('Set the path filter')
    await isClosed()
    await lab.see('.filter:text-is("deny: kv/")')
    await until(async () => !(await hasKv()))
    await startAction('Remove the path filter … perf-c')
    await lab.press('Remove the path filter')
    await isClosed()
    await lab.page.waitForSelector('.filter', { state: 'detached' })
    await until(hasKv)
  })

  it('the cluster view updates the primary of a secondary with an activation token', async () => {
    const { apiAddress, rootToken } = access('A')
    const answer = await fetch(`${apiAddress}/v1/sys/replication/performance/primary/secondary-token`, {
      method: 'POST',
      headers: { 'X-Vault-Token': rootToken },
      body: JSON.stringify({ id: 'moved' }),
    })
    const { wrap_info: wrapped } = (await answer.json()) as { wrap_info: { token: string } }
    await openCluster('C')
    await lab.see('.login')
    const { stdout } = await lab.home.run('env', 'C', '--json')
    await logIn((JSON.parse(stdout) as { VAULT_TOKEN: string }).VAULT_TOKEN)
    await lab.see('.who:has-text("root")')
    await startAction('Update the primary …', { 'Activation token': wrapped.token })
    expect(await lab.page.locator('dialog .command code').innerText()).not.toContain(wrapped.token)
    await lab.press('Update the primary')
    await lab.press('Close')
    await isClosed()
    await lab.see('.kind[data-kind="performance"] dd code:text-is("moved")')
    await lab.see('.kind[data-kind="performance"] dd code:text-is("stream-wals")')
  })

  it('the cluster view revokes a secondary, which rejoins with a generated token', async () => {
    await openCluster('A')
    await kindIs('performance', 'primary')
    await startAction('Revoke … moved')
    await lab.press('Revoke')
    await isClosed()
    const performance = lab.page.locator('.kind[data-kind="performance"]')
    await performance.locator('th:text-is("moved")').waitFor({ state: 'detached' })
    await performance.getByRole('button', { name: 'Generate an activation token …' }).click()
    await lab.page.locator('dialog').getByLabel('Secondary ID').fill('again')
    await lab.press('Generate an activation token')
    await lab.press('Show token')
    const token = await lab.page.locator('dialog dd code').first().innerText()
    await lab.press('Close')
    await isClosed()
    await openCluster('C')
    await kindIs('performance', 'secondary')
    await performance.getByRole('button', { name: 'Disable …' }).click()
    await lab.press('Disable')
    await isClosed()
    await kindIs('performance', 'disabled')
    await performance.getByRole('button', { name: 'Enable as secondary …' }).click()
    await lab.page.locator('dialog').getByLabel('Activation token').fill(token)
    expect(await lab.page.locator('dialog .command code').innerText()).not.toContain(token)
    await lab.press('Enable as secondary')
    await kindIs('performance', 'secondary')
    await lab.see('.kind[data-kind="performance"] dd code:text-is("again")')
    await lab.see('.kind[data-kind="performance"] dd code:text-is("stream-wals")')
    await lab.page.keyboard.press('Escape')
    await isClosed()
  })

  it('the cluster view generates an operation token share by share and promotes a DR secondary', async () => {
    const name = 'B'
    await openCluster(name)
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
    await lab.press('Promote')
    await kindIs('dr', 'primary')
  })

  it('the cluster view causes no error in the browser console', () => {
    expect(lab.errors).toEqual([])
  })
})
