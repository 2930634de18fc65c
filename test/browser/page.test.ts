import { mkdirSync } from 'node:fs'
import path from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { KeeperClient } from '../../src/lab/keeper/keeper-client.js'
import { findBarriers, openBrowser, watchForErrors } from '../support/browser.js'
import { LabHome } from '../support/lab-home.js'
import type { Program } from '../support/program.js'
import { until } from '../support/until.js'

/** The page of a lab in a real browser, while things happen to the lab. One story, told in the order of the tests. */

const { UNDERSTUDY_SCREENSHOTS: SCREENSHOTS } = process.env

let home: LabHome
let program: Program
let browser: Browser
let page: Page
let errors: string[]

const serve = async (): Promise<Program> => {
  const begun = home.begin('web')
  await begun.untilPrinted('the link works once')
  return begun
}

const run = async (...args: string[]): Promise<void> => {
  const { status, stderr } = await home.run(...args)
  expect(status, `${args.join(' ')}: ${stderr}`).toBe(0)
}

/** Waits until what a selector names is on the page. */
const see = (selector: string): Promise<unknown> => page.waitForSelector(selector, { state: 'attached' })

/** Asked from outside: a page that lets nothing be evaluated lets nobody wait within it either. */
const seen = (fact: string): Promise<void> => until(async () => (await page.evaluate(fact)) === true)

const arrow = (words: string, state: string) => see(`path[data-arrow="${words}"].${state}`)
const cluster = (name: string, look: string) => see(`[data-cluster="${name}"].${look}`)
const event = (kind: string, text: string) => see(`.timeline li:has(.kind:text-is("${kind}")):has-text("${text}")`)

/** For people to look at, where they want to. */
const shoot = async (name: string): Promise<void> => {
  if (SCREENSHOTS === undefined) return
  mkdirSync(SCREENSHOTS, { recursive: true })
  for (const colorScheme of ['light', 'dark'] as const)
    for (const [width, height] of [
      [1280, 720],
      [390, 844],
    ] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      await page.setViewportSize({ width, height })
      await page.screenshot({ path: path.join(SCREENSHOTS, `${name}-${colorScheme}-${width}.png`) })
    }
  await page.setViewportSize({ width: 1280, height: 720 })
}

beforeAll(async () => {
  home = new LabHome()
  await run('up', 'dr', '--ports', 'random')
  program = await serve()
  browser = await openBrowser()
  page = await (await browser.newContext({ viewport: { width: 1280, height: 720 } })).newPage()
  errors = watchForErrors(page)
  await page.goto(program.stdout.trim())
})
afterAll(async () => {
  await browser?.close()
  await program?.[Symbol.asyncDispose]()
  await home.run('down')
  await home[Symbol.asyncDispose]()
})

describe('the page of a lab', () => {
  it('shows who leads and who follows, and keeps no secret where others find it', async () => {
    await cluster('A', 'primary')
    await cluster('B', 'secondary')
    await arrow('A dr B', 'well')
    await see('.verdict.well')
    await see('.connection.live')
    await see('.facts-table td:text-is("DR secondary")')
    await event('lab-up', 'the lab is up (dr)')
    expect(new URL(page.url()).search).toBe('')
    expect(await page.evaluate('document.cookie + localStorage.length + sessionStorage.length')).toBe('00')
    await shoot('well')
  })

  it('has no barrier, in light and in dark, wide and narrow', async () => {
    for (const colorScheme of ['light', 'dark'] as const)
      for (const width of [1280, 390]) {
        await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
        await page.setViewportSize({ width, height: 800 })
        await seen(`document.querySelector('.stage svg').clientWidth < ${width}`)
        expect(await findBarriers(page), `${colorScheme}, ${width}`).toEqual([])
        expect(await page.evaluate('document.documentElement.scrollWidth'), 'nothing sticks out').toBe(width)
      }
    await page.setViewportSize({ width: 1280, height: 720 })
  })

  it('shows a link that is cut, and that it is healed', async () => {
    await run('fault', 'partition', 'A', 'B')
    await arrow('A dr B', 'cut')
    await see('.words strong:text-is("✂ cut")')
    await see('.verdict.bad')
    await event('fault-set', 'A <-> B, partition')
    await shoot('cut')
    await run('heal', '--all')
    await arrow('A dr B', 'well')
    await event('fault-healed', 'A <-> B, partition is healed')
  })

  it('shows a text as what it is, whatever is written in it', async () => {
    const text = '<img src=x onerror="document.title=1"><script>document.title=1</script>'
    await new KeeperClient(home.record('default').keeper.socket).append({ kind: 'note', details: { text } })
    await event('note', '<img src=x onerror=')
    expect(await page.title()).toBe('default · Understudy')
    expect(await page.locator('img, .timeline script').count()).toBe(0)
  })

  it('shows of the events what is asked for, by the keyboard alone', async () => {
    await page.getByRole('searchbox').focus()
    await page.keyboard.type('partition')
    await seen(`[...document.querySelectorAll('.timeline li')].every((row) => row.textContent.includes('partition'))`)
    await event('fault-healed', 'partition')
    await page.keyboard.press('ControlOrMeta+a')
    await page.keyboard.press('Delete')
    await event('lab-up', 'the lab is up')
    await page.getByRole('checkbox', { name: 'faults' }).focus()
    await page.keyboard.press('Space')
    await page.waitForSelector('.timeline li.faults', { state: 'detached' })
    await page.keyboard.press('Space')
    await see('.timeline li.faults')
  })

  it('shows a failover from before to after', async () => {
    await run('crash', 'A')
    await cluster('A', 'away')
    await arrow('A dr B', 'cut')
    await event('process', 'running -> stopped')
    await shoot('lost')
    await run('failover', 'A', 'B', '--force')
    await cluster('B', 'primary')
    await event('role', 'dr: secondary -> primary')
    await event('call', 'sys/replication/dr/secondary/promote')
    await shoot('over')
    await run('start', 'A')
    await run('rejoin', 'A', 'B')
    await cluster('A', 'secondary')
    await arrow('B dr A', 'well')
    await see('.verdict.well')
  })

  it('gave the browser nothing to complain about', () => {
    expect(errors).toEqual([])
  })
})
