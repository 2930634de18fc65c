import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { NARROW, WIDE } from '../support/browser-page.js'
import { LabPage } from '../support/lab-page.js'
import { skipAfterFailure } from '../support/skip-after-failure.js'

/** Actions on a lab through its page in a real browser. The tests depend on each other. */

let lab: LabPage

skipAfterFailure()
beforeAll(async () => {
  lab = await LabPage.open('pr-dr')
  await lab.see('.verdict.well')
})
afterAll(async () => {
  await lab?.[Symbol.asyncDispose]()
})

const CLUSTER_A = /cluster A,/
const CLUSTER_B = /cluster B,/
const LINK = /the DR link from A to B/

const isClosed = () => lab.page.waitForSelector('dialog', { state: 'detached' })
/** Waits for this state and title of the latest job. */
const seeJob = (state: string, title: string) => lab.see(`.works > .work:first-of-type.${state}:has-text("${title}")`)
const submit = () => lab.page.locator('dialog button[type=submit]')
const focused = () =>
  lab.page.evaluate('document.activeElement.getAttribute("aria-label") ?? document.activeElement.textContent')
/** Presses Tab until the element with this name has the focus. */
const focusByTab = async (name: string | RegExp) => {
  const isThere = async () => new RegExp(name).test(String(await focused()))
  for (let count = 0; count < 60 && !(await isThere()); count += 1) await lab.page.keyboard.press('Tab')
  expect(await focused()).toMatch(name)
}
const focusOn = (name: string | RegExp) => lab.page.getByRole('button', { name, exact: true }).focus()

describe('actions on the lab page', () => {
  it('the lab page cuts and heals a link by keyboard alone', async () => {
    await lab.saveScreenshots('healthy')
    await lab.expectNoBarrier()
    await focusOn(LINK)
    await lab.page.keyboard.press('Enter')
    await lab.see('dialog[open]')
    expect(await focused()).toBe('Cut')
    await lab.page.keyboard.press('Enter')
    await isClosed()
    expect(await focused(), 'the focus returns to the same element').toMatch(LINK)
    await lab.arrow('A dr B', 'cut')
    await seeJob('done', 'cut the link between A and B')
    await lab.see('.works [role=status]:has-text("cut the link between A and B: done")')
    await lab.page.keyboard.press('Enter')
    await lab.see('dialog[open]')
    await lab.page.keyboard.press('Tab')
    await lab.page.keyboard.press('Tab')
    expect(await focused()).toBe('Heal')
    await lab.page.keyboard.press('Enter')
    await lab.arrow('A dr B', 'well')
    await seeJob('done', 'heal the link between A and B')
  })

  it('the lab page adds the entered latency to a link', async () => {
    await lab.ask(LINK)
    await lab.press('Add latency …')
    await lab.see('dialog input:focus')
    await lab.see('dialog h2:text-is("Add latency between A and B")')
    expect(await submit().isDisabled()).toBe(true)
    expect(await lab.page.evaluate('document.activeElement.type')).toBe('number')
    await lab.page.keyboard.type('80')
    await lab.see('.plan code:has-text("understudy fault latency A B 80ms")')
    await lab.press('Add latency')
    await lab.see('.words strong:text-is("80 ms")')
    await lab.saveScreenshots('delayed')
    await lab.ask(LINK)
    await lab.press('Heal')
    await lab.page.waitForSelector('.words strong', { state: 'detached' })
  })

  it('the lab page asks for confirmation before a destructive action, and Escape cancels it', async () => {
    await lab.ask(CLUSTER_B)
    await lab.saveScreenshots('menu')
    await lab.expectNoBarrier()
    await lab.press('Crash …')
    await lab.see('dialog h2:text-is("Crash B")')
    await lab.see('.plan:has-text("is killed")')
    expect(await focused()).toBe('Back')
    await lab.expectNoBarrier()
    await lab.page.keyboard.press('Escape')
    await isClosed()
    expect(await focused()).toMatch(CLUSTER_B)
    await lab.cluster('B', 'secondary')
    expect(await lab.page.locator('.work', { hasText: 'crash B' }).count()).toBe(0)
  })

  it('the lab page copies the equivalent command', async () => {
    await lab.context.grantPermissions(['clipboard-read', 'clipboard-write'])
    await lab.ask(CLUSTER_B)
    await lab.press('Crash …')
    await lab.press('Copy: understudy crash B')
    await lab.see('[aria-label="Copied: understudy crash B"]')
    expect(await lab.page.evaluate('navigator.clipboard.readText()')).toBe('understudy crash B')
    await lab.press('Crash')
    await isClosed()
    await lab.cluster('B', 'away')
    await seeJob('done', 'cluster B was killed')
    await lab.ask(CLUSTER_B)
    await lab.press('Start')
    await lab.cluster('B', 'secondary')
    await lab.see('.verdict.well')
  })

  it('the lab page disables an action that the lab would reject, and shows the reason', async () => {
    await lab.ask(LINK)
    await lab.press('Cut')
    await lab.see('.verdict.bad:has-text("disconnected")')
    await lab.ask(CLUSTER_B)
    await lab.press('Fail over to B …')
    await lab.see('[role=alert]:has-text("A is a running DR primary, but B does not stream from it")')
    expect(await submit().isDisabled()).toBe(true)
    await lab.see('.of-force .hint:has-text("if it is running, there are two primaries")')
    await lab.see('.of-force .hint:has-text("entries that B lacks are lost")')
    await lab.saveScreenshots('refused')
    await lab.expectNoBarrier()
    await lab.page.getByRole('checkbox', { name: 'Force' }).check()
    await lab.see('.plan:has-text("there are two primaries")')
    await lab.press('Back')
    await lab.press('Cancel')
    await isClosed()
    await lab.ask(LINK)
    await lab.press('Heal')
    await lab.see('.verdict.well')
  })

  it('the lab page fails over by keyboard alone, with the steps of the runbook and the API calls', async () => {
    await focusByTab(CLUSTER_B)
    await lab.page.keyboard.press('Enter')
    await lab.see('dialog[open]')
    await focusByTab('Fail over to B …')
    await lab.page.keyboard.press('Enter')
    await lab.see('dialog h2:text-is("Fail over to B")')
    await lab.see('.plan li:has-text("Decode the DR operation token of B"):has-text("-decode=")')
    await lab.see('.plan li:has-text("Promote B to DR primary"):has-text("sys/replication/dr/secondary/promote")')
    expect(await focused(), 'the focus is not on Force').toBe('Back')
    await lab.saveScreenshots('plan')
    await focusByTab(/^Fail over$/)
    await lab.page.keyboard.press('Enter')
    await isClosed()
    expect(await focused(), 'the focus returns to the same element').toMatch(CLUSTER_B)
    await lab.cluster('B', 'primary')
    await seeJob('done', 'B is the DR primary now')
    await lab.event('call', 'sys/replication/dr/secondary/promote')
    await lab.page.locator('.work').first().getByText('API calls').click()
    await lab.see('.work .calls code:has-text("sys/replication/dr/primary/demote")')
    await lab.saveScreenshots('failed-over')
    await lab.expectNoBarrier()
  })

  it('after a failover, a card of the lab page offers to rejoin the former primary', async () => {
    await lab.see('[data-card="A"]:has-text("A is a former primary")')
    await lab.press('Rejoin A as a secondary of B …')
    await lab.see('dialog h2:text-is("Rejoin A as a secondary of B")')
    await lab.press('Rejoin')
    await lab.arrow('B dr A', 'well')
    await lab.page.waitForSelector('[data-card]', { state: 'detached' })
  })

  const saveSnapshot = async (name: string) => {
    await lab.press('Lab actions …')
    await lab.press('Save a snapshot …')
    await lab.see('dialog input:focus')
    await lab.page.keyboard.type(name)
    await lab.press('Save')
    await seeJob('done', `${name}.snapshot`)
  }
  const loadSnapshot = async (name: string) => {
    await lab.press('Lab actions …')
    await lab.press('Load a snapshot …')
    await lab.page.locator('dialog select').selectOption(name)
    await lab.press('Load')
    await seeJob('done', `load the snapshot ${name}`)
  }

  it('the lab page saves a snapshot, resets the lab and loads a snapshot', async () => {
    await saveSnapshot('over')
    await lab.press('Lab actions …')
    await lab.press('Reset …')
    await lab.press('Reset')
    await seeJob('done', 'the lab was reset')
    await lab.cluster('A', 'primary')
    await lab.see('.verdict.well')
    await saveSnapshot('begin')
    await loadSnapshot('over')
    await lab.cluster('B', 'primary')
    await loadSnapshot('begin')
    await lab.cluster('A', 'primary')
    await lab.see('.verdict.well')
  })

  it('the lab page shows hostile snapshot names as text', async () => {
    const name = '<img src=x onerror="document.title=1">'
    writeFileSync(path.join(lab.home.directory, 'understudy', 'snapshots', `${name}.snapshot`), '')
    await lab.press('Lab actions …')
    await lab.press('Load a snapshot …')
    await lab.page.locator('dialog select').selectOption(name)
    expect(await lab.page.locator('dialog option').allTextContents()).toContain(name)
    await lab.see('[role=alert]:has-text("letters, digits")')
    await lab.page.keyboard.press('Escape')
    await isClosed()
    await lab.press('Lab actions …')
    await lab.press('Save a snapshot …')
    await lab.see('dialog input:focus')
    await lab.page.keyboard.type('begin')
    await lab.press('Save')
    await seeJob('failed', 'exists; choose another name')
    expect(await lab.page.title()).toBe('default · Understudy')
    expect(await lab.page.locator('img').count()).toBe(0)
  })

  it('the lab page runs a drill to its verdict on a narrow screen', async () => {
    lab.size = NARROW
    await lab.page.setViewportSize(NARROW)
    await lab.press('Lab actions …')
    await lab.press('Run a drill …')
    const drill = /^dr-failover topology pr-dr, about \d+ s The primary is lost without warning/
    await lab.page.getByRole('radio', { name: drill }).check()
    await lab.see('.plan li:has-text("crash A")')
    await lab.saveScreenshots('drill')
    await lab.expectNoBarrier()
    // A step may end before the next frame of a busy machine, so the page itself records the current steps.
    const hasCurrentStep = lab.page.evaluate(
      () =>
        new Promise<void>((resolve) => {
          const check = () => document.querySelector('.steps [aria-current=step]') && resolve()
          new MutationObserver(check).observe(document.body, { subtree: true, childList: true, attributes: true })
        }),
    )
    await lab.press('Run')
    await hasCurrentStep
    await lab.saveScreenshots('drilling')
    await lab.see('.steps .passed:has-text("the primary crashes")')
    await lab.cluster('A', 'away')
    await lab.cluster('B', 'primary')
    await seeJob('done', 'passed after')
    expect(await lab.page.locator('.expectations .passed').count()).toBe(6)
    await lab.see('.curve[data-phases="6"] canvas')
    await lab.saveScreenshots('drilled')
    await lab.expectNoBarrier()
    lab.size = WIDE
    await lab.page.setViewportSize(WIDE)
  })

  it('the lab page shows the reason of a failed action', async () => {
    await lab.run('start', 'A')
    await lab.cluster('A', 'primary')
    await lab.ask(CLUSTER_A)
    await lab.press('Crash …')
    await lab.see('.plan')
    // Another client crashes the cluster first.
    await lab.run('crash', 'A')
    await lab.press('Crash')
    await seeJob('failed', 'cluster A is not running')
    await lab.see('.works [role=status]:has-text("crash A: failed")')
    await lab.saveScreenshots('failed')
    await lab.expectNoBarrier()
  })

  it('a read-only page has no actions', async () => {
    await using second = await lab.serve('--read-only')
    const page = await lab.context.newPage()
    await page.goto(second.stdout.trim())
    await page.waitForSelector('[data-cluster="B"].primary')
    expect(await page.getByRole('button', { name: /Actions for|Drill/ }).count()).toBe(0)
    await page.getByRole('link', { name: 'Cluster B', exact: true }).click()
    await page.waitForSelector('main.inside .login')
    expect(await page.getByRole('button', { name: /root token/ }).count()).toBe(0)
    await page.close()
  })

  it('the actions of the lab page cause no error in the browser console', () => {
    expect(lab.errors).toEqual([])
  })
})
