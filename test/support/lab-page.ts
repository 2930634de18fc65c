import { expect } from 'vitest'
import { BrowserPage } from './browser-page.js'
import { LabHome } from './lab-home.js'
import type { Program } from './program.js'

/** A lab of processes, and its page in a real browser. Disposing of it stops the lab and closes the browser. */
export class LabPage extends BrowserPage {
  readonly home = new LabHome()
  program!: Program

  static async open(topology: string, ...flags: string[]): Promise<LabPage> {
    const lab = new LabPage()
    await lab.run('up', topology, '--ports', 'random', ...flags)
    lab.program = await lab.serve()
    await lab.goTo(lab.program.stdout.trim())
    return lab
  }

  /** Starts `understudy web`, and waits until it has printed its link. */
  async serve(...flags: string[]): Promise<Program> {
    const begun = this.home.begin('web', ...flags)
    await begun.untilPrinted('the link works once')
    return begun
  }

  async run(...args: string[]): Promise<void> {
    const { status, stderr } = await this.home.run(...args)
    expect(status, `${args.join(' ')}: ${stderr}`).toBe(0)
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

  /** Opens the dialog of a cluster. `what` matches the name of its button, which contains the current state. */
  async ask(what: RegExp): Promise<void> {
    await this.page.getByRole('button', { name: what }).click()
    await this.see('dialog[open]')
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await super[Symbol.asyncDispose]()
    await this.program?.[Symbol.asyncDispose]()
    await this.home.run('down')
    await this.home[Symbol.asyncDispose]()
  }
}
