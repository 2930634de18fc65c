import { type Command, Option } from 'commander'
import { createSystemRandom } from '../../../base/random.js'
import { checkFix, injectFault, revealFault } from '../../../lab/drills/find/find.js'
import type { FaultSolution } from '../../../lab/drills/find/hidden-faults.js'
import { PRACTICE } from '../../../lab/drills/find/traffic.js'
import { LabError } from '../../../lab/model/lab-error.js'
import { commandIn } from '../../../lab/model/lab-directory.js'
import { thisHost } from '../../../lab/processes/lab-host.js'
import { openLab } from '../../../lab/live/open-lab.js'
import type { LiveLab } from '../../../lab/live/live-lab.js'
import { EXIT } from '../../terminal/exit-codes.js'
import { TypedCommand } from '../../terminal/command.js'
import type { Output } from '../../terminal/output.js'

interface FindFlags {
  readonly name: string
  readonly seed?: string
  readonly json?: true
}

/** Number of possible seeds. They have at most four digits, so that a trainer can read one aloud. */
const SEEDS = 10_000

/** `understudy drill find`: injects a hidden fault for participants to find. */
export const findCommand = (output: Output, finish: (status: number) => void): Command =>
  new TypedCommand('find')
    .description('inject a hidden fault into a running lab')
    .lab()
    .flag('--seed <seed>', 'seed that selects the fault: same seed and topology, same fault (default: random)')
    .flag('--check', 'check whether the fault is fixed; exit code 3 until then, and afterwards reveal the fault')
    .add<{ readonly giveUp?: true }>(
      new Option('--give-up', 'reveal the fault and its fix').conflicts(['check', 'seed']),
    )
    .json()
    .examples('drill find --seed 7', 'drill find --check')
    .run(async (flags) => {
      await using lab = openProcessLab(flags.name)
      if (flags.check) finish(await check(lab, flags, output))
      else if (flags.giveUp) reveal(revealFault(lab), flags, output)
      else await hide(lab, flags, output)
    })

/** Opens a lab. Throws LabError `usage` unless the lab owns its servers, as hidden faults require. */
const openProcessLab = (name: string): LiveLab => {
  const lab = openLab(name, thisHost())
  if (lab.kind === 'process' || lab.kind === 'in-process') return lab
  throw new LabError(
    'usage',
    `"drill find" requires a lab that "understudy up" started; "${name}" is another kind of lab. Start one with "understudy up pr-dr"`,
  )
}

const hide = async (lab: LiveLab, { name, seed, json }: FindFlags, output: Output): Promise<void> => {
  const chosen = seed ?? String(createSystemRandom().bytes(4).readUInt32BE() % SEEDS)
  output.progress('checking the lab and injecting a hidden fault')
  await injectFault(lab, chosen)
  if (json) return output.data(JSON.stringify({ apiVersion: 'understudy/v1', lab: name, seed: chosen, hidden: true }))
  output.data(
    [
      `A fault has been injected into the lab "${name}" (seed ${chosen}). Find it, and fix it with the usual commands.`,
      `In a healthy lab, each cluster that serves clients can read secrets written below ${PRACTICE}/ on the primary.`,
      `To check your fix:    ${commandIn(name, 'drill find --check')}`,
      `To reveal the fault:  ${commandIn(name, 'drill find --give-up')}`,
    ].join('\n'),
  )
}

const check = async (lab: LiveLab, { json }: Pick<FindFlags, 'json'>, output: Output): Promise<number> => {
  output.progress('checking every cluster, and writing and reading as a client')
  const judgement = await checkFix(lab)
  if (json) output.data(JSON.stringify({ apiVersion: 'understudy/v1', ...judgement }, undefined, 2))
  else if (judgement.isMended) {
    const { told, took } = judgement
    output.data(`Fixed after ${took}. The fault was: ${told.what}.\nSymptom: ${told.seen}.`)
  }
  if (judgement.isMended) return EXIT.ok
  output.complain(`Not fixed yet: ${judgement.seen.replace(/\.$/, '')}.`)
  return EXIT.assertion
}

const reveal = (
  solution: FaultSolution & { readonly seed: string },
  { name, json }: Pick<FindFlags, 'name' | 'json'>,
  output: Output,
): void => {
  const steps = solution.mend.map((line) => `  ${line}`)
  const lines = [
    `${solution.what}.`,
    `Symptom: ${solution.seen}.`,
    'The fault is still in the lab. To fix it:',
    ...steps,
    `To check your fix: ${commandIn(name, 'drill find --check')}`,
  ]
  output.data(json ? JSON.stringify({ apiVersion: 'understudy/v1', ...solution }, undefined, 2) : lines.join('\n'))
}
