import { type Command, CommanderError, type Option } from 'commander'
import { describe, expect, it } from 'vitest'
import { describeConfigShow, describeServerCommand } from '../../../src/cli/commands/server-help.js'
import { everyCommand } from '../../../src/cli/program.js'
import { FIRST_HOUR } from '../../../src/cli/terminal/first-hour.js'
import { ProcessOutput } from '../../../src/cli/terminal/output.js'
import { makeProgram } from '../../../src/cli/program.js'
import { describeAll } from '../../../src/cli/vault/program/commands.js'

const silent = new ProcessOutput(() => 0)

/** Returns the help that a command prints. */
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
/** Commands with their own help texts, and the lab daemon, which only other commands start. */
const OWN_TEXT = ['understudy server', 'understudy vault', 'understudy config show', 'understudy keeper']
const pathOf = (command: Command): string =>
  command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name()
/** Commands whose arguments may begin with a minus, as in `-5m`. */
const TAKES_MINUS = ['understudy fault skew']
const documented = everyCommand(program).filter((one) => !OWN_TEXT.includes(pathOf(one)))

/** Parses a command line without running it. Returns the printed texts and the exit code. */
const endOf = async (args: readonly string[]) => {
  const own = makeProgram(silent, () => {})
  const end = { printed: '', complained: '', exitCode: -1 }
  for (const command of everyCommand(own)) {
    command.configureOutput({
      writeOut: (text) => {
        end.printed += text
      },
      writeErr: (text) => {
        end.complained += text
      },
    })
  }
  const error = await own.parseAsync(args, { from: 'user' }).catch((thrown: unknown) => thrown)
  return error instanceof CommanderError ? { ...end, exitCode: error.exitCode } : end
}

/** Returns the required options of a command, each with a value. */
const neededBy = (words: readonly string[]): string[] => {
  const command = everyCommand(program).find((one) => pathOf(one) === ['understudy', ...words].join(' '))
  return (command?.options ?? []).flatMap(({ mandatory, long }) => (mandatory ? [long ?? '', '1'] : []))
}

const countExamples = (help: string): number => help.split('Examples:\n')[1]?.match(/^ {2}\S/gm)?.length ?? 0

describe('the help of understudy commands', () => {
  it.each(documented.map((command) => [pathOf(command), command] as const))(
    'the help of %s has two examples',
    (_, command) => {
      expect(countExamples(helpOf(command))).toBeGreaterThanOrEqual(2)
    },
  )

  it('the first screen of the help has the ten commands of a first session', () => {
    const screen = helpOf(program).split('\n').slice(0, 24)
    expect(FIRST_HOUR).toHaveLength(10)
    for (const [command, effect] of FIRST_HOUR) {
      expect(screen.filter((line) => line.startsWith(`  ${command} `) && line.endsWith(effect))).toHaveLength(1)
      expect(program.commands.map((one) => one.name())).toContain(command.split(' ')[0])
    }
  })

  it('the help lists every command below the heading of its group', () => {
    const rows = helpOf(program).split('Examples:')[0]?.split('\n') ?? []
    const groupOf = (name: string) =>
      rows
        .slice(
          0,
          rows.findLastIndex((row) => row.startsWith(`  ${name} `)),
        )
        .findLast((row) => /^[A-Z]\w+:$/.test(row))
    const names = ['up', 'crash', 'failover', 'fault', 'drill', 'status', 'server', 'compose', 'version', 'help']
    expect(names.map(groupOf)).toEqual([
      ...['Lab:', 'Clusters:', 'Replication:', 'Faults:', 'Drills:'],
      ...['Observe:', 'Servers:', 'Export:', 'Other:', 'Other:'],
    ])
    expect(rows).not.toContain('Commands:')
  })

  it('each command with JSON output also has YAML output', () => {
    // An export has the hidden option --output, whose error names --out.
    const isShown = ({ hidden }: Option) => !hidden
    const options = documented.map((command) => command.options.filter(isShown).map(({ long }) => long))
    expect(options.filter((longs) => longs.includes('--json') !== longs.includes('--output'))).toEqual([])
    expect(options.filter((longs) => longs.includes('--json')).length).toBeGreaterThan(5)
  })

  it.each(documented.map((command) => [pathOf(command)]))(
    'the help of %s is available, and the command rejects unknown arguments',
    async (name) => {
      const words = name.split(' ').slice(1)
      expect(await endOf([...words, '--help'])).toMatchObject({ exitCode: 0, printed: expect.stringContaining(name) })
      const refused = await endOf([...words, '--no-such-thing', ...neededBy(words)])
      expect(refused).toMatchObject({ exitCode: 1, printed: '' })
      if (!TAKES_MINUS.includes(name)) expect(refused.complained).toContain("unknown option '--no-such-thing'")
    },
  )

  it.each(['compose', 'kubernetes'])('%s export rejects --output and -o, and names --out', async (parent) => {
    for (const former of ['--output', '-o']) {
      const { exitCode, complained } = await endOf([parent, 'export', 'pr-dr', former, 'lab/'])
      expect([exitCode, complained]).toEqual([1, expect.stringContaining('Use --out lab/')])
    }
  })

  it('the help fits a terminal of 80 columns', () => {
    const long = documented.flatMap((command) =>
      helpOf(command)
        .split('Examples:')[0]
        ?.split('\n')
        .filter((line) => line.length > 80)
        .map((line) => `${pathOf(command)}: ${line}`),
    )
    expect(long).toEqual([])
  })

  it('the help of server and config show has two examples each', () => {
    expect([describeServerCommand(), describeConfigShow()].map(countExamples)).toEqual([2, 2])
  })

  it('the help separates names and summaries of the compatibility commands', () => {
    const rows = describeAll()
      .split('\n')
      .filter((line) => line.startsWith('  '))
    expect(rows.filter((row) => !/^ {2}\S+(?: \S+)* {2,}[A-Z]/.test(row))).toEqual([])
  })
})
