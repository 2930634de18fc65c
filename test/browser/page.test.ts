import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LabDaemonClient } from '../../src/lab/daemon/lab-daemon-client.js'
import { LabPage } from '../support/lab-page.js'
import { Listener } from '../support/page-client.js'
import { skipAfterFailure } from '../support/skip-after-failure.js'
import { until } from '../support/until.js'

/** The lab page during changes of the lab, in a real browser. The tests depend on each other. */

let lab: LabPage

skipAfterFailure()
beforeAll(async () => {
  lab = await LabPage.open('dr')
})
afterAll(async () => {
  await lab?.[Symbol.asyncDispose]()
})

describe('the page of a lab', () => {
  it('the lab page shows primaries and secondaries, and keeps secrets out of public places', async () => {
    await lab.cluster('A', 'primary')
    await lab.cluster('B', 'secondary')
    await lab.arrow('A dr B', 'well')
    await lab.see('.verdict.well')
    await lab.see('.connection.live')
    await lab.see('.facts-table td:text-is("DR secondary")')
    await lab.event('lab-up', 'the lab is up (dr)')
    expect(new URL(lab.page.url()).search).toBe('')
    expect(await lab.page.evaluate('document.cookie + localStorage.length + sessionStorage.length')).toBe('00')
    await lab.saveScreenshots('well')
  })

  it('the lab page has no accessibility barrier, in light and dark, wide and narrow', () => lab.expectNoBarrier())

  it('the lab page shows a link that is cut, and its recovery', async () => {
    await lab.run('fault', 'partition', 'A', 'B')
    await lab.arrow('A dr B', 'cut')
    await lab.see('.words strong:text-is("✂ cut")')
    await lab.see('.verdict.bad')
    await lab.event('fault-set', 'A <-> B, partition')
    const [A] = lab.home.record('default').clusters
    const written = await fetch(`${A?.apiAddress}/v1/sys/policies/acl/behind`, {
      method: 'PUT',
      headers: { 'X-Vault-Token': A?.rootToken ?? '' },
      body: JSON.stringify({ policy: 'path "x" {}' }),
    })
    expect(written.status).toBe(204)
    await lab.seen(`/A → B, DR: [1-9]/.test(document.querySelector('.curve .unseen').textContent)`)
    await lab.see('.curve canvas')
    await lab.saveScreenshots('cut')
    await lab.run('heal', '--all')
    await lab.arrow('A dr B', 'well')
    await lab.event('fault-healed', 'A <-> B, partition: healed')
    await lab.seen(`/A → B, DR: 0, at most [1-9]/.test(document.querySelector('.curve .unseen').textContent)`)
  })

  it('the lab page shows hostile text as text', async () => {
    const text = '<img src=x onerror="document.title=1"><script>document.title=1</script>'
    await new LabDaemonClient(lab.home.record('default').keeper.socket).append({ kind: 'note', details: { text } })
    await lab.event('note', '<img src=x onerror=')
    expect(await lab.page.title()).toBe('default · Understudy')
    expect(await lab.page.locator('img, .timeline script').count()).toBe(0)
  })

  it('the lab page filters events by keyboard alone', async () => {
    await lab.page.getByRole('searchbox').focus()
    await lab.page.keyboard.type('partition')
    await lab.seen(
      `[...document.querySelectorAll('.timeline li')].every((row) => row.textContent.includes('partition'))`,
    )
    await lab.event('fault-healed', 'partition')
    await lab.page.keyboard.press('ControlOrMeta+a')
    await lab.page.keyboard.press('Delete')
    await lab.event('lab-up', 'the lab is up')
    await lab.page.getByRole('checkbox', { name: 'faults' }).focus()
    await lab.page.keyboard.press('Space')
    await lab.page.waitForSelector('.timeline li.faults', { state: 'detached' })
    await lab.page.keyboard.press('Space')
    await lab.see('.timeline li.faults')
  })

  it('the lab page shows a failover from start to end', async () => {
    await lab.run('crash', 'A')
    await lab.cluster('A', 'away')
    await lab.arrow('A dr B', 'cut')
    await lab.event('process', 'running -> stopped')
    await lab.saveScreenshots('lost')
    await lab.run('failover', 'A', 'B', '--force')
    await lab.cluster('B', 'primary')
    await lab.event('role', 'dr: secondary -> primary')
    await lab.event('call', 'sys/replication/dr/secondary/promote')
    await lab.saveScreenshots('over')
    await lab.run('start', 'A')
    await lab.run('rejoin', 'A', 'B')
    await lab.cluster('A', 'secondary')
    await lab.arrow('B dr A', 'well')
    await lab.see('.verdict.well')
  })

  it('the lab page reports a lost connection and recovers', async () => {
    lab.program.signal('SIGSTOP')
    try {
      await lab.see('.connection.lost')
      await lab.see('.diagram.stale')
      expect(await lab.page.getByRole('button', { name: /Actions for/ }).count(), 'nothing can be done').toBe(0)
      await lab.saveScreenshots('silent')
      await lab.expectNoBarrier()
    } finally {
      lab.program.signal('SIGCONT')
    }
    await lab.see('.connection.live')
    await lab.see('.diagram:not(.stale)')
  })

  it('the lab page reports the end of its session and continues by the link of the next command', async () => {
    const { port } = new URL(lab.page.url())
    lab.program.signal('SIGINT')
    expect(await lab.program.end()).toBe(0)
    await lab.see('.connection.lost')
    lab.program = await lab.serve('--port', port)
    await lab.see('.connection.ended')
    await lab.page.goto(lab.program.stdout.trim())
    await lab.see('.connection.live')
  })

  it('the lab page reports that all connections are in use, and connects after one becomes free', async () => {
    const [{ name, value } = { name: '', value: '' }] = await lab.context.cookies()
    const { origin } = new URL(lab.page.url())
    await lab.page.goto('about:blank')
    const cookie = `${name}=${value}`
    const listen = () => new Listener(`${origin}/_understudy/v1/events`, { cookie })
    const others = Array.from({ length: 32 }, listen)
    try {
      await until(() => {
        // The page uses a connection until the server notices that it has closed.
        for (const [at, { text }] of others.entries()) if (text.includes('event: full')) others[at] = listen()
        return others.every(({ survey }) => survey !== undefined)
      })
      await lab.page.goto(origin)
      await lab.see('.connection.full:has-text("Too many pages")')
      others.pop()?.[Symbol.dispose]()
      await lab.see('.connection.live')
    } finally {
      for (const other of others) other[Symbol.dispose]()
    }
  })

  it('the lab page causes no error in the browser console', () => {
    expect(lab.errors).toEqual([])
  })
})
