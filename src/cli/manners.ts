import { type Command, Option } from 'commander'
import { commandTerm } from './help.js'
import { FORMATS, type ProcessOutput } from './output.js'

/** Options and behaviour that every command of the program shares, given to all of them in one place. */
export const teachManners = (program: Command, output: ProcessOutput): void => {
  program
    .option('-q, --quiet', 'no progress on standard error')
    .option('-v, --verbose', 'every HTTP call on standard error')
  for (const command of everyCommand(program)) {
    command
      .exitOverride()
      .configureHelp({ subcommandTerm: commandTerm, showGlobalOptions: true })
      .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, 'understudy: ')) })
    if (isListed(command, '--json') && !isListed(command, '--output')) {
      command.addOption(new Option('-o, --output <format>', 'how data is printed').choices([...FORMATS]))
    }
  }
  program.hook('preAction', (_, command) => {
    const { quiet, output: format, json } = command.optsWithGlobals<{ quiet?: true; output?: string; json?: true }>()
    output.isQuiet = quiet === true
    output.format = FORMATS.find((known) => known === format) ?? (json ? 'json' : 'table')
    if (format === 'json' || format === 'yaml') command.setOptionValueWithSource('json', true, 'cli')
  })
}

/** A command and all below it. */
export const everyCommand = (command: Command): Command[] => [command, ...command.commands.flatMap(everyCommand)]

const isListed = (command: Command, long: string): boolean => command.options.some((option) => option.long === long)
