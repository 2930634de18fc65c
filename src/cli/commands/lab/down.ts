import { messageOf } from '../../../base/printable.js'
import type { Command } from 'commander'
import { LabError } from '../../../lab/model/lab-error.js'
import { downLab } from '../../../lab/lifecycle/down.js'
import { describeMissing, findIntactLab } from '../../../lab/model/lab-directory.js'
import { listLabs } from '../../../lab/model/state-directory.js'
import { thisHost } from '../../../lab/processes/lab-host.js'
import { withInterrupt } from '../../terminal/interrupt.js'
import { TypedCommand } from '../../terminal/command.js'
import { confirmErasure, YES } from '../../terminal/confirm.js'
import type { Output } from '../../terminal/output.js'

/** The result for one lab in the JSON output. `forgotten`: an attached lab was unregistered. */
interface DownResult {
  readonly lab: string
  readonly result: 'down' | 'forgotten' | 'missing' | 'failed'
  readonly problem?: string
}

/** `understudy down`: stops the servers and removes their data. Succeeds if the lab does not exist. */
export const downCommand = (output: Output): Command => {
  const command = new TypedCommand('down')
    .description('stop a lab and remove its data')
    .argument('[lab]', 'name of the lab; same as --name')
    .lab()
    .flag('--all', 'remove all labs')
    .flag('--keep', 'keep the data and the keys; "understudy start" restarts the lab')
    .flag(...YES)
    .json('print the result for each lab as JSON')
    .examples('down', 'down --all')
  return command.run(async (flags, given: string | undefined) => {
    requireOneChoice(given, flags, command.getOptionValueSource('name') === 'cli')
    const host = thisHost()
    const names = flags.all ? listLabs() : [given ?? flags.name]
    const erased = flags.keep ? [] : names.filter(isErasedByDown).map((name) => `"${name}"`)
    if (erased.length > 0)
      await confirmErasure(output, flags.yes === true)(`the data and keys of the lab ${erased.join(', ')} are erased`)
    const failures: unknown[] = []
    const results: DownResult[] = []
    // The first signal is ignored, so that no lab is left partly removed. The second one kills the remaining processes.
    await withInterrupt(async ({ forceSignal }) => {
      for (const name of names) {
        try {
          const options = { keep: flags.keep === true, forceSignal }
          const result = await downLab(name, options, host)
          results.push({ lab: name, result: result ?? 'missing' })
          output.progress(describeEnd(name, result))
        } catch (error) {
          const problem = messageOf(error)
          results.push({ lab: name, result: 'failed', problem })
          failures.push(error)
          if (flags.all) output.complain(problem)
        }
      }
    })
    if (flags.json) output.data(JSON.stringify(results, undefined, 2))
    if (flags.all && names.length === 0) output.progress('there are no labs')
    if (flags.all && failures.length > 0)
      throw new LabError('conflict', 'some labs could not be removed: the reasons are above')
    if (failures.length > 0) throw failures[0]
  })
}

/** Returns true if `down` erases data of a lab. `down` only unregisters an attached lab. */
const isErasedByDown = (name: string): boolean => listLabs().includes(name) && findIntactLab(name)?.state !== 'attached'

/** Throws LabError `usage` if two labs, or a lab and `--all`, are given: one of them may be a mistake. */
const requireOneChoice = (
  given: string | undefined,
  { name, all }: { readonly name: string; readonly all?: true },
  isNameFlagSet: boolean,
): void => {
  if (all && (given !== undefined || isNameFlagSet)) throw new LabError('usage', 'specify a lab or --all, not both')
  if (given !== undefined && isNameFlagSet && given !== name)
    throw new LabError('usage', `two labs are specified: "${given}" and "${name}"`)
}

const describeEnd = (name: string, end: 'down' | 'forgotten' | undefined): string => {
  if (end === 'forgotten') return `the lab "${name}" is unregistered; its servers are unchanged`
  return end === 'down' ? `the lab "${name}" is down` : describeMissing(name)
}
