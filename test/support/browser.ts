import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type Browser, chromium, type Page } from 'playwright-core'
import { CHROMIUM } from '../../scripts/support/tiers.js'

/** However slow the machine is, what is waited for on a page comes within this time. */
const WAIT_MS = 60_000

/** The browser of this machine, without a window. Whoever opens it closes it. */
export const openBrowser = (): Promise<Browser> =>
  chromium.launch({
    executablePath: CHROMIUM.find((file) => existsSync(file)) ?? 'chromium',
    // Containers have neither the namespaces of its sandbox nor much shared memory.
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'],
    timeout: WAIT_MS,
  })

/** Every problem that the browser itself has with a page: errors of its script, and what its policy forbids. */
export const watchForErrors = (page: Page): string[] => {
  page.setDefaultTimeout(WAIT_MS)
  page.setDefaultNavigationTimeout(WAIT_MS)
  const errors: string[] = []
  page.on('pageerror', ({ message }) => errors.push(message))
  page.on('console', (message) => {
    // A server that is away is no problem of the page.
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

/** Serious and critical findings of axe, in words. */
export const findBarriers = async (page: Page): Promise<string[]> => {
  await page.evaluate(AXE)
  const violations = (await page.evaluate('axe.run().then(({ violations }) => violations)')) as Violation[]
  return violations
    .filter(({ impact }) => ['serious', 'critical'].includes(impact))
    .flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`))
}
