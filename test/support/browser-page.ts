import { mkdirSync } from 'node:fs'
import path from 'node:path'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { expect } from 'vitest'
import { findBarriers, openBrowser, watchForErrors } from './browser.js'
import { until } from './until.js'

const { UNDERSTUDY_SCREENSHOTS: SCREENSHOTS } = process.env

export const WIDE = { width: 1280, height: 720 } as const
export const NARROW = { width: 390, height: 844 } as const

interface Size {
  readonly width: number
  readonly height: number
}

/** A page that is open in a real browser. Disposing of it ends the browser. */
export class BrowserPage implements AsyncDisposable {
  browser!: Browser
  context!: BrowserContext
  page!: Page
  /** Whatever the browser itself complained about. */
  errors!: string[]
  /** Of the window, but while it is looked at in all. */
  size: Size = WIDE

  async goTo(address: string): Promise<void> {
    this.browser = await openBrowser()
    this.context = await this.browser.newContext({ viewport: WIDE })
    this.page = await this.context.newPage()
    this.errors = watchForErrors(this.page)
    await this.page.goto(address)
  }

  /** Waits until what a selector names is on the page. */
  see(selector: string): Promise<unknown> {
    return this.page.waitForSelector(selector, { state: 'attached' })
  }

  /** Asked from outside: a page that lets nothing be evaluated lets nobody wait within it either. */
  seen(fact: string): Promise<void> {
    return until(async () => (await this.page.evaluate(fact)) === true)
  }

  /** Presses a button of the name. */
  async press(name: string): Promise<void> {
    await this.page.getByRole('button', { name, exact: true }).click()
  }

  async looks(colorScheme: 'light' | 'dark', size: Size): Promise<void> {
    await this.page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    await this.page.setViewportSize(size)
    await this.seen(`(document.querySelector('.stage svg')?.clientWidth ?? 0) < ${size.width}`)
  }

  /** In light and in dark, wide and narrow. */
  async expectNoBarrier(): Promise<void> {
    for (const colorScheme of ['light', 'dark'] as const)
      for (const size of [WIDE, NARROW]) {
        await this.looks(colorScheme, size)
        expect(await findBarriers(this.page), `${colorScheme}, ${size.width}`).toEqual([])
        expect(await this.page.evaluate('document.documentElement.scrollWidth'), 'nothing sticks out').toBe(size.width)
      }
    await this.looks('light', this.size)
  }

  /** For people to look at, where they want to. */
  async shoot(name: string): Promise<void> {
    if (SCREENSHOTS === undefined) return
    mkdirSync(SCREENSHOTS, { recursive: true })
    for (const colorScheme of ['light', 'dark'] as const)
      for (const size of [WIDE, NARROW]) {
        await this.looks(colorScheme, size)
        await this.page.screenshot({ path: path.join(SCREENSHOTS, `${name}-${colorScheme}-${size.width}.png`) })
      }
    await this.looks('light', this.size)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.browser?.close()
  }
}
