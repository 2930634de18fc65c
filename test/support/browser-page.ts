import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { expect } from 'vitest'
import { CHROMIUM } from '../../scripts/support/tiers.js'
import { until } from './until.js'

/** Maximum time for a change of the page, long enough for a slow machine. */
const WAIT_MS = 60_000

/** Starts the browser of this machine without a window. The caller closes it. */
const openBrowser = (): Promise<Browser> =>
  chromium.launch({
    executablePath: CHROMIUM.find((file) => existsSync(file)) ?? 'chromium',
    // Containers lack the namespaces for the sandbox of the browser, and have little shared memory.
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'],
    timeout: WAIT_MS,
  })

/**
 * Collects the errors that the browser reports for a page: script errors, and violations of the content security
 * policy.
 */
const watchForErrors = (page: Page): string[] => {
  page.setDefaultTimeout(WAIT_MS)
  page.setDefaultNavigationTimeout(WAIT_MS)
  const errors: string[] = []
  page.on('pageerror', ({ message }) => errors.push(message))
  page.on('console', (message) => {
    // An unreachable server is not an error of the page.
    if (message.type() === 'error' && !message.text().includes('Failed to load resource')) errors.push(message.text())
  })
  return errors
}

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

interface Violation {
  readonly id: string
  readonly impact: string
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[]
}

/** Returns the serious and critical findings of axe as text. */
const findBarriers = async (page: Page): Promise<string[]> => {
  await page.evaluate(AXE)
  const violations = (await page.evaluate('axe.run().then(({ violations }) => violations)')) as Violation[]
  return violations
    .filter(({ impact }) => ['serious', 'critical'].includes(impact))
    .flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`))
}

/** Resolves when the page has been drawn in its new size: the arrows of the diagram are drawn after its clusters. */
const DRAWN = 'new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve())))'

const { UNDERSTUDY_SCREENSHOTS: SCREENSHOTS } = process.env

export const WIDE = { width: 1280, height: 720 } as const
export const NARROW = { width: 390, height: 844 } as const
const LARGE = { width: 1920, height: 1080 } as const
export const SIZES = [WIDE, LARGE, NARROW] as const

interface Size {
  readonly width: number
  readonly height: number
}

/** A page in a real browser. Disposing of it closes the browser. */
export class BrowserPage implements AsyncDisposable {
  browser!: Browser
  context!: BrowserContext
  page!: Page
  /** Errors that the browser reported. */
  errors!: string[]
  /** Size of the window, except during `expectNoBarrier` and `saveScreenshots`. */
  size: Size = WIDE

  async goTo(address: string): Promise<void> {
    this.browser = await openBrowser()
    this.context = await this.browser.newContext({ viewport: WIDE })
    this.page = await this.context.newPage()
    this.errors = watchForErrors(this.page)
    await this.page.goto(address)
  }

  /** Waits until an element matches the selector. */
  see(selector: string): Promise<unknown> {
    return this.page.waitForSelector(selector, { state: 'attached' })
  }

  /**
   * Waits until a JavaScript expression is true. Polls from outside, because the content security policy forbids
   * waiting inside the page.
   */
  seen(fact: string): Promise<void> {
    return until(async () => (await this.page.evaluate(fact)) === true)
  }

  /** Clicks the button with this exact name. */
  async press(name: string): Promise<void> {
    await this.page.getByRole('button', { name, exact: true }).click()
  }

  async setAppearance(colorScheme: 'light' | 'dark', size: Size): Promise<void> {
    await this.page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    await this.page.setViewportSize(size)
    await this.seen(`innerWidth === ${size.width}`)
    await this.page.evaluate(DRAWN)
  }

  /** Checks accessibility and width of the page in light and dark mode, in a wide and a narrow window. */
  async expectNoBarrier(): Promise<void> {
    for (const colorScheme of ['light', 'dark'] as const)
      for (const size of [WIDE, NARROW]) {
        await this.setAppearance(colorScheme, size)
        expect(await findBarriers(this.page), `${colorScheme}, ${size.width}`).toEqual([])
        expect(await this.page.evaluate('document.documentElement.scrollWidth'), 'nothing sticks out').toBe(size.width)
      }
    await this.setAppearance('light', this.size)
  }

  /** Saves screenshots to the directory UNDERSTUDY_SCREENSHOTS, if it is set. */
  async saveScreenshots(name: string): Promise<void> {
    if (SCREENSHOTS === undefined) return
    mkdirSync(SCREENSHOTS, { recursive: true })
    for (const colorScheme of ['light', 'dark'] as const)
      for (const size of SIZES) {
        await this.setAppearance(colorScheme, size)
        const file = path.join(SCREENSHOTS, `${name}-${colorScheme}-${size.width}.png`)
        await this.page.screenshot({ path: file, fullPage: size === NARROW })
      }
    await this.setAppearance('light', this.size)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.browser?.close()
  }
}
