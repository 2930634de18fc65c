import { parseDurationMs } from '../../../base/duration.js'
import { createSystemRandom } from '../../../base/random.js'
import { loadDrill } from '../../../lab/drills/catalogue.js'
import { describeStep } from '../../../lab/drills/steps/steps.js'
import type { Runner } from '../../../lab/drills/drill-schema.js'
import type { Drill } from '../../../lab/drills/parse.js'
import { requireFitting, requireRoles } from '../../../lab/drills/fitting.js'
import { bringUp, type DrillLab, findMisfit } from '../../../lab/start/lab-for-drill.js'
import type { DrillAudit, DrillResult, ExpectationResult, StepResult } from '../../../lab/drills/context/result.js'
import { shellWord } from '../../../base/shell.js'
import type { DrillWatcher } from '../../../lab/drills/run/play-steps.js'
import { runDrill } from '../../../lab/drills/run/run-drill.js'
import { describeFailure, mark, summaryOf } from '../../../lab/drills/summary.js'
import type { Slo } from '../../../lab/drills/expectations/expectations.js'
import { findIntactLab } from '../../../lab/model/lab-directory.js'
import { LabError } from '../../../lab/model/lab-error.js'
import { currentLab } from '../../../lab/model/state-directory.js'
import { thisHost } from '../../../lab/processes/lab-host.js'
import { openLab } from '../../../lab/live/open-lab.js'
import { formatMs } from '../../../lab/texts/format.js'
import { prepareReport, writeReport } from '../../../lab/report/report.js'
import { topologyName } from '../../../lab/topology/catalogue.js'
import { EXIT } from '../../terminal/exit-codes.js'
import { type Interruption, withInterrupt } from '../../terminal/interrupt.js'
import type { Output } from '../../terminal/output.js'
import { parseTimeout } from './options.js'
import { once } from 'node:events'
import { createInterface } from 'node:readline/promises'

export interface DrillRunFlags {
  readonly slo?: string
  readonly report?: string
  readonly on?: Runner
  readonly name?: string
  readonly seed?: string
  readonly keep?: true
  readonly step?: true
  readonly timeout: string
  readonly json?: true
  readonly operator?: string
  readonly approver?: string
  readonly change?: string
  readonly environment?: string
}

/**
 * Runs a drill. Resolves to the exit code: 3 if an expectation is false, 2 if the drill could not be completed. Rejects
 * with LabError `usage` for flags that do not fit together.
 */
export const runDrillCommand = async (nameOrFile: string, flags: DrillRunFlags, output: Output): Promise<number> => {
  const drill = loadDrill(nameOrFile)
  const slo = parseSlo(flags.slo, drill)
  const timeoutMs = parseTimeout(flags.timeout)
  if (flags.seed !== undefined && (flags.on !== 'in-process' || flags.name !== undefined))
    throw new LabError('usage', '--seed requires --on in-process: it has no effect on servers in other processes')
  if (flags.step && !process.stdin.isTTY)
    throw new LabError('usage', '--step waits for Enter, which requires a terminal')
  if (flags.keep && flags.name === undefined && flags.on === 'in-process')
    throw new LabError('usage', '--keep requires --on process or docker: an in-process lab ends with the command')
  if (flags.report !== undefined) prepareReport(flags.report)
  return withInterrupt(async (interruption) => {
    const print = flags.json || output.isQuiet ? output.progress : output.data
    const chosen: ChosenLab = { on: 'process', ...flags, ...(await findCurrentLab(drill, flags, output)) }
    const { name, on } = chosen
    const place = name === undefined ? `a new lab, ${topologyName(drill.topology)} (${on})` : `the lab "${name}"`
    const isSeeded = name === undefined && on === 'in-process'
    const seed = isSeeded ? (flags.seed ?? createSystemRandom().bytes(4).toString('hex')) : undefined
    print(`drill ${drill.name} on ${place}${seed === undefined ? '' : `, seed ${seed}`}`)
    const result = await playOnLab(drill, chosen, interruption, output, {
      seed,
      slo,
      timeoutMs,
      signal: interruption.signal,
      howToRepeat: commandToRepeat(nameOrFile, chosen, seed),
      audit: auditOf(flags),
      watcher: watcherOf(print, drill, flags.step === true, interruption.signal),
    })
    if (flags.report !== undefined) {
      const files = writeReport(flags.report, result)
      print(`report: ${files.join(', ')}`)
    }
    output.data(flags.json ? JSON.stringify(result, undefined, 2) : summaryOf(result))
    return reportFailure(result, output)
  })
}

/** Returns the current lab if it fits the drill and the flags select no lab. Prints the reason if it does not fit. */
const findCurrentLab = async (
  drill: Drill,
  { name, on }: DrillRunFlags,
  output: Output,
): Promise<{ readonly name?: string }> => {
  const record = name === undefined && on === undefined ? findIntactLab(currentLab()) : undefined
  if (!record) return {}
  const misfit = await findMisfit(drill, record, thisHost())
  if (misfit === undefined) return { name: record.name }
  output.progress(`the lab "${record.name}" does not fit, so the drill starts its own lab: ${misfit}`)
  return {}
}

type ChosenLab = DrillRunFlags & { readonly on: Runner }

/** Runs the drill on the chosen lab, or on a new lab that is removed afterwards unless `--keep` is set. */
const playOnLab = async (
  drill: Drill,
  { name, on, keep }: ChosenLab,
  { signal, forceSignal }: Interruption,
  output: Output,
  options: Parameters<typeof runDrill>[2] & { readonly timeoutMs: number },
): Promise<DrillResult> => {
  if (name !== undefined) {
    await using lab = openLab(name, thisHost())
    requireFitting(drill, lab)
    await requireRoles(drill, lab)
    return await runDrill(lab, drill, options)
  }
  const { seed, timeoutMs } = options
  const made: DrillLab = await bringUp(drill, on, { seed, timeoutMs, signal, forceSignal })
  try {
    return await runDrill(made.lab, drill, options)
  } finally {
    if (signal.aborted) output.progress('interrupted: removing the lab of the drill')
    await made.end({ keep: keep === true && !signal.aborted })
  }
}

const auditOf = ({ operator = '', approver = '', change = '', environment = '' }: DrillRunFlags): DrillAudit => ({
  operator,
  approver,
  change,
  environment,
})

/** Returns the command that repeats a run of the drill. */
const commandToRepeat = (nameOrFile: string, { slo, on, name }: ChosenLab, seed: string | undefined): string =>
  [
    `understudy drill run ${shellWord(nameOrFile)}`,
    ...(slo === undefined ? [] : [`--slo ${shellWord(slo)}`]),
    name === undefined ? `--on ${on}` : `--name ${name}`,
    ...(seed === undefined ? [] : [`--seed ${shellWord(seed)}`]),
  ].join(' ')

const parseSlo = (text: string | undefined, drill: Drill): Slo | undefined => {
  if (text === undefined) return undefined
  if (!drill.load)
    throw new LabError('usage', `the drill ${drill.name} has no clients, so it cannot measure RTO and RPO`)
  let slo: Slo = {}
  for (const part of text.split(',')) {
    const [, what, bound = ''] = /^(rto|rpo)=(.+)$/.exec(part.trim()) ?? []
    const ms = parseDurationMs(bound)
    if (what === 'rto' && ms !== undefined && ms >= 0) slo = { ...slo, rtoMs: ms }
    else if (what === 'rpo' && /^\d+$/.test(bound)) slo = { ...slo, writesLost: Number(bound) }
    else throw new LabError('usage', `"${part}" is not a limit such as rto=60s or rpo=0 (writes that may be lost)`)
  }
  return slo
}

/** Returns the callbacks that print the steps of a drill. With `isStepwise`, they wait for Enter before each step. */
const watcherOf = (
  print: (text: string) => void,
  drill: Drill,
  isStepwise: boolean,
  signal: AbortSignal,
): DrillWatcher => {
  const count = drill.setup.length + drill.steps.length
  return {
    onText: (text) => print(`      ${text}`),
    onStep: async (step, number) => {
      const detail = describeStep(step)
      print(`[${number}/${count}] ${step.name === undefined ? detail : `${step.name}: ${detail}`}`)
      if (isStepwise) await waitForEnter('      press Enter to continue ', signal)
    },
    onLine: (line) => print(`      $ ${line}`),
    onStepEnd: (result) => {
      for (const line of lastLines(result.output)) print(`      > ${line}`)
      print(`      ${describeEnd(result)}`)
    },
    onExpectation: (result) => print(describeExpectation(result)),
  }
}

const LINES_SHOWN = 20

/** Returns the last lines of a command's output. The report of the drill contains more lines. */
const lastLines = (output = ''): string[] =>
  output.trimEnd() === '' ? [] : output.trimEnd().split('\n').slice(-LINES_SHOWN)

const describeEnd = ({ outcome, tookMs, error }: StepResult): string =>
  `${mark(outcome === 'passed')} ${formatMs(tookMs)}${error === undefined ? '' : ` ${error}`}`

const describeExpectation = ({ text, passed, evidence }: ExpectationResult): string =>
  [`${mark(passed)} ${text}`, ...evidence.map((line) => `    ${line}`)].join('\n')

/** Prints why a drill failed. Returns the exit code. */
const reportFailure = (result: DrillResult, output: Output): number => {
  if (result.verdict === 'passed') return EXIT.ok
  output.complain(`understudy: ${describeFailure(result)}`)
  return result.verdict === 'error' ? EXIT.remote : EXIT.assertion
}

interface Terminal {
  readonly input: NodeJS.ReadableStream
  readonly output: NodeJS.WritableStream
}

/**
 * Prints `prompt` and waits until Enter is pressed. Rejects with the reason of `signal` if it is aborted. The prompt
 * receives Ctrl-C as a key instead of a signal, so this function sends SIGINT to the process, also at the end of the
 * input.
 */
export const waitForEnter = async (
  prompt: string,
  signal: AbortSignal,
  { input, output }: Terminal = { input: process.stdin, output: process.stderr },
): Promise<void> => {
  const lines = createInterface({ input, output, terminal: true })
  const interrupt = () => process.kill(process.pid, 'SIGINT')
  lines.once('SIGINT', interrupt).once('close', interrupt)
  try {
    await lines.question(prompt, { signal })
  } catch (error) {
    if (!signal.aborted) await once(signal, 'abort')
    signal.throwIfAborted()
    throw error
  } finally {
    lines.off('close', interrupt)
    lines.close()
  }
}
