import { attempt } from '../../../base/attempt.js'
import { describeStep, type Step } from '../../drills/steps/steps.js'
import { listDrillNames, listDrills, loadDrill } from '../../drills/catalogue.js'
import type { Drill } from '../../drills/parse.js'
import type { DrillWatcher } from '../../drills/run/play-steps.js'
import { requireFitting, requireRoles, runsOn } from '../../drills/fitting.js'
import type { StepResult } from '../../drills/context/result.js'
import { LabError } from '../../model/lab-error.js'
import type { LiveLab } from '../../live/live-lab.js'
import { topologyName } from '../../topology/catalogue.js'
import type { PageChoices } from '../page-facts.js'
import type { PageDrill, PageStep } from '../page-job.js'
import { type ActionContext, type Progress, TIMEOUT_MS } from './lab-action.js'

/**
 * Returns an included drill. A name from the page must not load other files of this machine. Throws LabError `usage`
 * for an unknown name.
 */
export const findDrill = (name: string, lab: LiveLab): Drill => {
  if (!listDrillNames().includes(name))
    throw new LabError('usage', `there is no drill "${name}": choose a drill from the list`)
  const drill = loadDrill(name)
  requireFitting(drill, lab)
  return drill
}

export const drillsFor = (lab: LiveLab): PageChoices['drills'] =>
  listDrills()
    .filter((drill) => fits(drill, lab))
    .map(({ name, purpose, topology, duration }) => ({ name, purpose, duration, topology: topologyName(topology) }))

const fits = (drill: Drill, lab: LiveLab): boolean =>
  attempt(() => {
    requireFitting(drill, lab)
    return runsOn(drill, lab.kind)
  }) ?? false

export const stepsOf = ({ setup, steps }: Drill): readonly Step[] => [...setup, ...steps]

/** Runs a drill, shows each step, and returns the result. Rejects if the drill did not pass. */
export const playDrill = async (
  drill: Drill,
  { lab, progress, command, signal }: Omit<ActionContext, 'host'>,
): Promise<string> => {
  await requireRoles(drill, lab)
  // Imported here, since viewing the page does not need it.
  const [{ runDrill }, { describeFailure, summaryOf }] = await Promise.all([
    import('../../drills/run/run-drill.js'),
    import('../../drills/summary.js'),
  ])
  const { watcher, end } = watch(drill, progress)
  const result = await runDrill(lab, drill, {
    timeoutMs: TIMEOUT_MS,
    signal,
    howToRepeat: command ?? undefined,
    watcher,
  })
  end(result.steps)
  const summary = summaryOf(result)
  if (result.verdict !== 'passed') throw new LabError('remote', `${describeFailure(result)}\n${summary}`)
  return summary
}
const watch = (drill: Drill, progress: Progress) => {
  const steps = stepsOf(drill).map((step) => ({ name: step.name ?? describeStep(step), ...WAITING }))
  let shown: PageDrill = { name: drill.name, purpose: drill.purpose, steps, expectations: [] }
  let at = -1
  const show = (change: Partial<PageDrill>) => {
    shown = { ...shown, ...change }
    progress.show(shown)
  }
  const showStep = (change: (step: PageStep) => PageStep) =>
    show({ steps: shown.steps.map((step, index) => (index === at ? change(step) : step)) })
  show({})
  const watcher: DrillWatcher = {
    onText: (text) => progress.say(text),
    onStep: (_, number) => {
      at = number - 1
      showStep((step) => ({ ...step, state: 'running' }))
    },
    onLine: (line) => showStep((step) => ({ ...step, commands: [...step.commands, line].slice(-COMMANDS_MAX) })),
    onStepEnd: (result) => showStep(() => toStep(result)),
    onExpectation: (result) => show({ expectations: [...shown.expectations, result] }),
  }
  return { watcher, end: (results: readonly StepResult[]) => show({ steps: results.map(toStep) }) }
}

const WAITING = { state: 'waiting', tookMs: null, error: null, commands: [] } as const

/** Maximum number of commands shown per step: a step may write thousands of times. */
const COMMANDS_MAX = 20

const toStep = ({ name, outcome, tookMs, error, commands }: StepResult): PageStep => ({
  name,
  tookMs,
  state: outcome,
  error: error ?? null,
  commands: commands.slice(-COMMANDS_MAX),
})
