import type { Command, Option } from 'commander'

/** The commands of the program as plain data, so that a completion need not load their code. */
export interface CommandWords {
  readonly name: string
  readonly about: string
  readonly isHidden: boolean
  readonly options: readonly OptionWords[]
  readonly arguments: readonly ArgumentWords[]
  readonly commands: readonly CommandWords[]
}

export interface OptionWords {
  readonly long: string
  readonly short: string
  readonly about: string
  readonly isHidden: boolean
  readonly takesValue: boolean
  /** Name of its value in the help. */
  readonly placeholder: string
  readonly choices: readonly string[] | null
}

interface ArgumentWords {
  readonly name: string
  readonly isVariadic: boolean
  readonly choices: readonly string[] | null
}

export const wordsOf = (command: Command): CommandWords => {
  const visible = command.createHelp().visibleCommands(command)
  return {
    name: command.name(),
    about: command.description(),
    isHidden: false,
    options: command.options.map(optionWords),
    arguments: command.registeredArguments.map((argument) => ({
      name: argument.name(),
      isVariadic: argument.variadic,
      choices: argument.argChoices ?? null,
    })),
    // Commander adds a help command, which is omitted here.
    commands: [...new Set([...command.commands, ...visible])].map((one) => ({
      ...wordsOf(one),
      isHidden: !visible.includes(one),
    })),
  }
}

const optionWords = ({
  long,
  short,
  description,
  hidden,
  required,
  optional,
  flags,
  argChoices,
}: Option): OptionWords => ({
  long: long ?? '',
  short: short ?? '',
  about: description,
  isHidden: hidden,
  takesValue: required || optional,
  placeholder: /[<[]([^>\]]+)[>\]]/.exec(flags)?.[1] ?? '',
  choices: argChoices ?? null,
})
