import { createSystemRandom } from '../../../base/random.js'
import { describeStep, type Step } from '../../drills/steps/steps.js'
import { listDrillNames, listDrills, loadDrill } from '../../drills/catalogue.js'
import type { Drill } from '../../drills/parse.js'
import type { DrillWatcher } from '../../drills/run/play-steps.js'
import { requireFitting, requireRoles } from '../../drills/fitting.js'
import type { StepResult } from '../../drills/context/result.js'
import { LabError } from '../../model/lab-error.js'
import type { LiveLab } from '../../live/live-lab.js'
import { topologyName } from '../../topology/catalogue.js'
import type { PageChoices, PageDrill, PageStep } from '../page-facts.js'
import type { Told } from './told.js'

/** Returns a bundled drill. The page cannot access drill files. */
export const findDrill = (name: string, lab: LiveLab): Drill => {
  if (!listDrillNames().includes(name)) throw new LabError('usage', `there is no drill "${name}"`)
  const drill = loadDrill(name)
  requireFitting(drill, lab)
  return drill
}

/** Returns the drills that can run on this lab. */
export const drillsFor = (lab: LiveLab): PageChoices['drills'] =>
  listDrills()
    .filter((drill) => fits(drill, lab))
    .map(({ name, purpose, topology }) => ({ name, purpose, topology: topologyName(topology) }))

const fits = (drill: Drill, lab: LiveLab): boolean => {
  try {
    requireFitting(drill, lab)
    return drill.runners.length === 0 || drill.runners.some((runner) => runner === lab.kind)
  } catch {
    return false
  }
}

export const stepsOf = ({ setup, steps }: Drill): readonly Step[] => [...setup, ...steps]

const nameOf = (step: Step): string => step.name ?? describeStep(step)

/** Runs a drill, reports each step, and returns the result. Rejects if the drill did not pass. */
export const playDrill = async (
  lab: LiveLab,
  drill: Drill,
  { told, command, timeoutMs, signal }: DrillOptions,
): Promise<string> => {
  await requireRoles(drill, lab)
  // Imported here, since viewing the page does not need it.
  const [{ runDrill }, { complaintOf, summaryOf }] = await Promise.all([
    import('../../drills/run/run-drill.js'),
    import('../../drills/summary.js'),
  ])
  const seed = createSystemRandom().bytes(4).toString('hex')
  const score = new Score(drill, told)
  const howToRepeat = `${command} --seed ${seed}`
  const result = await runDrill(lab, drill, { seed, timeoutMs, signal, howToRepeat, watcher: score.watcher })
  score.end(result.steps)
  const summary = summaryOf(result)
  if (result.verdict !== 'passed') throw new LabError('remote', `${complaintOf(result)}\n${summary}`)
  return summary
}

interface DrillOptions {
  readonly told: Told
  readonly command: string
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

/** The progress of a drill, as shown on the page. */
class Score {
  readonly #told: Told
  #drill: PageDrill
  #at = -1

  constructor(drill: Drill, told: Told) {
    this.#told = told
    const steps = stepsOf(drill).map((step) => ({ name: nameOf(step), ...WAITING }))
    this.#drill = { name: drill.name, purpose: drill.purpose, steps, expectations: [] }
    this.#tell({})
  }

  readonly watcher: DrillWatcher = {
    onText: (text) => this.#told.say(text),
    onStep: (_, number) => {
      this.#at = number - 1
      this.#tellStep((step) => ({ ...step, state: 'running' }))
    },
    onLine: (line) => this.#tellStep((step) => ({ ...step, commands: [...step.commands, line].slice(-COMMANDS_MAX) })),
    onStepEnd: (result) => this.#tellStep(() => toStep(result)),
    onExpectation: (result) => this.#tell({ expectations: [...this.#drill.expectations, result] }),
  }

  end(steps: readonly StepResult[]): void {
    this.#tell({ steps: steps.map(toStep) })
  }

  #tellStep(change: (step: PageStep) => PageStep): void {
    this.#tell({ steps: this.#drill.steps.map((step, index) => (index === this.#at ? change(step) : step)) })
  }

  #tell(change: Partial<PageDrill>): void {
    this.#drill = { ...this.#drill, ...change }
    this.#told.show(this.#drill)
  }
}

const WAITING = { state: 'waiting', tookMs: null, error: null, commands: [] } as const

/** Maximum number of commands shown per step: a step may write thousands of times. */
const COMMANDS_MAX = 20

const toStep = ({ name, outcome, tookMs, error, commands }: StepResult): PageStep => ({
  ...{ name, tookMs, state: outcome },
  error: error ?? null,
  commands: commands.slice(-COMMANDS_MAX),
})
