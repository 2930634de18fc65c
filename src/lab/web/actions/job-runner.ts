import { messageOf } from '../../../base/printable.js'
import { openLab } from '../../live/open-lab.js'
import { commandIn, requireAnyLab } from '../../model/lab-directory.js'
import { LabError } from '../../model/lab-error.js'
import type { LabHost } from '../../processes/lab-host.js'
import { listSnapshots } from '../../snapshot/stored.js'
import type { PageAction, PageChoices, PagePlan } from '../page-facts.js'
import type { PageLine, PageJob } from '../page-job.js'
import { ACTIONS, planSteps } from './actions.js'
import { drillsFor } from './drill-job.js'
import { LABS } from './lab-action.js'

/** Maximum number of concurrent actions. Limits the load that a page can cause. */
const RUNNING_MAX = 8

const LINES_MAX = 100
const TEXT_MAX = 2000

interface Running {
  readonly action: PageAction
  readonly stop: AbortController
  readonly done: Promise<void>
}

/**
 * Runs the actions that users request on the page. Actions continue if the page is closed, and all viewers see their
 * progress. The caller must dispose of the runner: this stops drills, and waits for other actions.
 */
export class JobRunner implements AsyncDisposable {
  readonly #name: string
  readonly #host: LabHost
  readonly #emit: (work: PageJob) => void
  readonly #running = new Map<number, Running>()
  #lastId = 0

  constructor(name: string, host: LabHost, emit: (work: PageJob) => void) {
    this.#name = name
    this.#host = host
    this.#emit = emit
  }

  /** Returns what an action would do. Rejects if the action is not possible. */
  async plan(action: PageAction): Promise<PagePlan> {
    const { consequence, isDestructive = false } = ACTIONS[action.verb]
    const { command } = this.#describe(action)
    await using lab = openLab(this.#name, this.#host)
    return { isDestructive, consequence: consequence(action), command, steps: await planSteps(action, lab) }
  }

  /** Returns a root token that is valid on a cluster now. Rejects with the reason if there is none. */
  async rootToken(cluster: string): Promise<{ readonly token: string }> {
    await using lab = openLab(this.#name, this.#host)
    await lab.followActiveNodes()
    return { token: await lab.rootToken(cluster) }
  }

  /** Returns the drills and snapshots from which the user can choose. */
  async choices(): Promise<PageChoices> {
    await using lab = openLab(this.#name, this.#host)
    return { drills: drillsFor(lab), snapshots: listSnapshots() }
  }

  /** Starts an action and returns at once. `emit` receives its progress. Throws if the action is not possible. */
  begin(action: PageAction): PageJob {
    const described = this.#describe(action)
    this.#requireIdle(action)
    const { canBeStopped = false } = ACTIONS[action.verb]
    const stop = new AbortController()
    const id = ++this.#lastId
    const begun: PageJob = {
      id,
      canBeStopped,
      ...described,
      state: 'running',
      lines: [],
      outcome: '',
      tookMs: null,
      drill: null,
    }
    this.#emit(begun)
    const done = this.#run(action, begun, stop.signal).finally(() => this.#running.delete(id))
    this.#running.set(id, { action, stop, done })
    return begun
  }

  /** Stops an action. Throws LabError `usage` if there is no such running action, or if it cannot be stopped. */
  stop(id: number): void {
    const running = this.#running.get(id)
    if (!running) throw new LabError('usage', `there is no running action ${id}`)
    if (!ACTIONS[running.action.verb].canBeStopped)
      throw new LabError(
        'usage',
        'this action cannot be stopped, because the lab would stay in an intermediate state: wait until it ends',
      )
    running.stop.abort()
  }

  /** Titles of running actions. */
  get unfinished(): readonly string[] {
    return [...this.#running.values()].map(({ action }) => ACTIONS[action.verb].title(action))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { action, stop } of this.#running.values()) if (ACTIONS[action.verb].canBeStopped) stop.abort()
    await Promise.all([...this.#running.values()].map(({ done }) => done))
  }

  /**
   * Returns the title, and the equivalent shell command if there is one. Throws if the lab does not support the action.
   */
  #describe(action: PageAction): Pick<PageJob, 'title' | 'command'> {
    const { needs, title, line } = ACTIONS[action.verb]
    if (!LABS[needs](requireAnyLab(this.#name)))
      throw new LabError('usage', `the lab "${this.#name}" does not support "${action.verb}"`)
    const command = line ? commandIn(this.#name, line(action, this.#name)) : null
    return { title: title(action), command }
  }

  #requireIdle(action: PageAction): void {
    const { isAlone, title } = ACTIONS[action.verb]
    const isConflicting = ({ action: other }: Running) =>
      (isAlone && ACTIONS[other.verb].isAlone) || ACTIONS[other.verb].title(other) === title(action)
    if ([...this.#running.values()].some(isConflicting) || this.#running.size >= RUNNING_MAX)
      throw new LabError('conflict', `wait for running actions: ${this.unfinished.join('; ')}`)
  }

  async #run(action: PageAction, begun: PageJob, signal: AbortSignal): Promise<void> {
    const { clock } = this.#host
    const startedMs = clock.monotonic()
    let work = begun
    const show = (change: Partial<PageJob>) => {
      work = { ...work, ...change }
      this.#emit(work)
    }
    const add = (kind: PageLine['kind'], text: string) =>
      show({ lines: [...work.lines, { kind, text: shorten(text) }].slice(-LINES_MAX) })
    const progress = {
      say: (text: string) => add('said', text),
      call: (line: string) => add('call', line),
      show: (drill: PageJob['drill']) => show({ drill }),
    }
    const end = (state: PageJob['state'], outcome: string) =>
      show({ state, outcome: shorten(outcome), tookMs: clock.monotonic() - startedMs })
    try {
      await using lab = openLab(this.#name, this.#host)
      const context = { lab, host: this.#host, progress, signal, command: work.command }
      end('done', await ACTIONS[action.verb].run(action, context))
    } catch (error) {
      if (signal.aborted) end('stopped', 'stopped before it was complete; "reset" restores the lab')
      else end('failed', messageOf(error))
    }
  }
}

const shorten = (text: string): string => (text.length > TEXT_MAX ? `${text.slice(0, TEXT_MAX)} …` : text)
