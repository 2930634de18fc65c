import { mkdirSync } from 'node:fs'
import path from 'node:path'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { expect } from 'vitest'
import { findBarriers, openBrowser, watchForErrors } from './browser.js'
import { LabHome } from './lab-home.js'
import type { Program } from './program.js'
import { until } from './until.js'

const { UNDERSTUDY_SCREENSHOTS: SCREENSHOTS } = process.env

const WIDE = { width: 1280, height: 720 } as const
const NARROW = { width: 390, height: 844 } as const

/** A lab of processes with its page open in a real browser. Disposing of it ends all of them. */
export class LabPage implements AsyncDisposable {
  readonly home = new LabHome()
  program!: Program
  browser!: Browser
  context!: BrowserContext
  page!: Page
  /** Whatever the browser itself complained about. */
  errors!: string[]

  static async open(topology: string): Promise<LabPage> {
    const lab = new LabPage()
    await lab.run('up', topology, '--ports', 'random')
    lab.program = await lab.serve()
    lab.browser = await openBrowser()
    lab.context = await lab.browser.newContext({ viewport: WIDE })
    lab.page = await lab.context.newPage()
    lab.errors = watchForErrors(lab.page)
    await lab.page.goto(lab.program.stdout.trim())
    return lab
  }

  /** `understudy web`, once it has printed its link. */
  async serve(...flags: string[]): Promise<Program> {
    const begun = this.home.begin('web', ...flags)
    await begun.untilPrinted('the link works once')
    return begun
  }

  async run(...args: string[]): Promise<void> {
    const { status, stderr } = await this.home.run(...args)
    expect(status, `${args.join(' ')}: ${stderr}`).toBe(0)
  }

  /** Waits until what a selector names is on the page. */
  see(selector: string): Promise<unknown> {
    return this.page.waitForSelector(selector, { state: 'attached' })
  }

  /** Asked from outside: a page that lets nothing be evaluated lets nobody wait within it either. */
  seen(fact: string): Promise<void> {
    return until(async () => (await this.page.evaluate(fact)) === true)
  }

  arrow(words: string, state: string): Promise<unknown> {
    return this.see(`path[data-arrow="${words}"].${state}`)
  }

  cluster(name: string, look: string): Promise<unknown> {
    return this.see(`[data-cluster="${name}"].${look}`)
  }

  event(kind: string, text: string): Promise<unknown> {
    return this.see(`.timeline li:has(.kind:text-is("${kind}")):has-text("${text}")`)
  }

  /** Presses a button of the name. */
  async press(name: string): Promise<void> {
    await this.page.getByRole('button', { name, exact: true }).click()
  }

  /** Opens the dialog of a cluster, whatever it is now. */
  async ask(what: RegExp): Promise<void> {
    await this.page.getByRole('button', { name: what }).click()
    await this.see('dialog[open]')
  }

  async looks(colorScheme: 'light' | 'dark', size: { readonly width: number; readonly height: number }): Promise<void> {
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
    await this.looks('light', WIDE)
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
    await this.looks('light', WIDE)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.browser?.close()
    await this.program?.[Symbol.asyncDispose]()
    await this.home.run('down')
    await this.home[Symbol.asyncDispose]()
  }
}
