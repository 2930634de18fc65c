import type { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import { describeConfigShow, describeServerCommand } from '../../../src/cli/commands/server-help.js'
import { makeProgram } from '../../../src/cli/program.js'
import { describeAll } from '../../../src/cli/vault/help.js'

const silent = { isQuiet: true, data: () => {}, progress: () => {}, complain: () => {} }

/** What a command prints when it is asked for help, with what stands behind its flags. */
const helpOf = (command: Command): string => {
  let text = ''
  command.configureOutput({
    writeOut: (part) => {
      text += part
    },
    getOutHelpWidth: () => 80,
  })
  command.outputHelp()
  return text
}

const program = makeProgram(silent, () => {})
/** `server`, `vault` and `config show` have texts of their own, `version` has nothing to say. */
const OWN_TEXT = ['server', 'vault', 'show', 'version']
const allBelow = (command: Command): Command[] => command.commands.flatMap((one) => [one, ...allBelow(one)])
const pathOf = (command: Command): string =>
  command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name()
const documented = [program, ...allBelow(program)].filter((one) => !OWN_TEXT.includes(one.name()))

const countExamples = (help: string): number => help.split('Examples:\n')[1]?.match(/^ {2}\S/gm)?.length ?? 0

describe('the help of our commands', () => {
  it.each(documented.map((command) => [pathOf(command), command] as const))('%s has two examples', (_, command) => {
    expect(countExamples(helpOf(command))).toBeGreaterThanOrEqual(2)
  })

  it('fits a terminal of 80 columns', () => {
    const long = documented.flatMap((command) =>
      helpOf(command)
        .split('Examples:')[0]
        ?.split('\n')
        .filter((line) => line.length > 80)
        .map((line) => `${pathOf(command)}: ${line}`),
    )
    expect(long).toEqual([])
  })

  it('has two examples for server and config show as well', () => {
    expect([describeServerCommand(), describeConfigShow()].map(countExamples)).toEqual([2, 2])
  })

  it('keeps names and summaries of the compatibility command line apart', () => {
    const rows = describeAll()
      .split('\n')
      .filter((line) => line.startsWith('  '))
    expect(rows.filter((row) => !/^ {2}\S+(?: \S+)* {2,}[A-Z]/.test(row))).toEqual([])
  })
})
