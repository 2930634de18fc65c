import { type Argument, Command, type ErrorOptions, InvalidArgumentError, Option } from 'commander'
import { nearest } from '../../base/nearest.js'
import { currentLab } from '../../lab/model/state-directory.js'

type Camel<S extends string> = S extends `${infer Head}-${infer Tail}` ? `${Head}${Capitalize<Camel<Tail>>}` : S

/** The property of a flag in the object that an action receives: `dryRun` for `-d, --dry-run <value>`. */
type NameOf<S extends string> = S extends `${string}--${infer Long} <${string}`
  ? Camel<Long>
  : S extends `${string}--${infer Long}`
    ? Camel<Long>
    : never

type ValueOf<S extends string> = S extends `${string} <${string}` ? string : true
type Maybe<S extends string, Value> = { readonly [N in NameOf<S>]?: Value }
type Always<S extends string, Value> = { readonly [N in NameOf<S>]: Value }

/** The type of the object with the flags of a command, which its action receives. */
export type FlagsOf<C> = C extends TypedCommand<infer Flags> ? Flags : never

/** A command of commander whose declarations of flags also determine the type of the object with the flags. */
export class TypedCommand<Flags = unknown> extends Command {
  override createCommand(name?: string): TypedCommand {
    return new TypedCommand(name)
  }

  /** Adds an option. If its value is not in the list of its choices, the error suggests the nearest one. */
  override addOption(option: Option): this {
    const { argChoices } = option
    return super.addOption(argChoices ? option.argParser((word) => requireChoice(word, argChoices)) : option)
  }

  /** Adds an argument, with suggestions as `addOption`. */
  override addArgument(argument: Argument): this {
    const { argChoices } = argument
    return super.addArgument(argChoices ? argument.argParser((word) => requireChoice(word, argChoices)) : argument)
  }

  /** Reports an error. An invalid word comes before a missing one, because its suggestion helps more. */
  override error(message: string, options?: ErrorOptions): never {
    if (options?.code === 'commander.missingArgument')
      this.registeredArguments.forEach((argument, at) => {
        const word = this.args[at]
        const { argChoices: choices } = argument
        if (word === undefined || !choices || choices.includes(word)) return
        const where = `command-argument value '${word}' is invalid for argument '${argument.name()}'`
        super.error(`error: ${where}. ${describeChoices(word, choices)}`)
      })
    return super.error(message, options)
  }

  /** Adds a flag: a switch, or a text if `spec` has a placeholder. */
  flag<S extends string>(spec: S, about: string): TypedCommand<Flags & Maybe<S, ValueOf<S>>>
  flag<S extends string>(spec: S, about: string, initial: string): TypedCommand<Flags & Always<S, string>>
  flag(spec: string, about: string, initial?: string): TypedCommand {
    return this.option(spec, about, initial)
  }

  /** Adds a flag that the command line must contain. */
  required<S extends string>(spec: S, about: string): TypedCommand<Flags & Always<S, string>> {
    return this.requiredOption(spec, about) as TypedCommand<Flags & Always<S, string>>
  }

  /** Adds a flag whose value is one of a list. */
  choice<S extends string, C extends string>(
    spec: S,
    about: string,
    choices: readonly C[],
  ): TypedCommand<Flags & Maybe<S, C>>
  choice<S extends string, C extends string>(
    spec: S,
    about: string,
    choices: readonly C[],
    initial: C,
  ): TypedCommand<Flags & Always<S, C>>
  choice(spec: string, about: string, choices: readonly string[], initial?: string): TypedCommand {
    return this.addOption(new Option(spec, about).choices(choices).default(initial))
  }

  /** Adds an option that the other methods cannot declare. `Added`: name and type of its value. */
  add<Added>(option: Option): TypedCommand<Flags & Added> {
    return this.addOption(option) as TypedCommand<Flags & Added>
  }

  /** Adds the flag that selects the lab. */
  lab(): TypedCommand<Flags & { readonly name: string }> {
    const option = new Option('--name <lab>', 'name of the lab').default(...currentLabDefault())
    return this.add<{ readonly name: string }>(option)
  }

  timeout(initial = '30s'): TypedCommand<Flags & { readonly timeout: string }> {
    return this.flag('--timeout <duration>', 'maximum time to wait for each step, such as 30s', initial)
  }

  json(about = 'print JSON'): TypedCommand<Flags & { readonly json?: true }> {
    return this.flag('--json', about)
  }

  /** Adds examples to the end of the help. The parameters are command lines without the word `understudy`. */
  examples(first: string, second: string, ...more: readonly string[]): this {
    return this.addHelpText('after', examples(first, second, ...more))
  }

  /** Sets the action, which receives the object with the flags, then the arguments. */
  run(act: (flags: Flags, ...args: never[]) => unknown): this {
    return this.action((...all: readonly unknown[]) => {
      const args = all.slice(0, this.registeredArguments.length)
      return act(this.opts() as Flags, ...(args as never[])) as Promise<void>
    })
  }
}

const describeChoices = (word: string, choices: readonly string[]): string => {
  const meant = nearest(word, choices)
  return `Allowed choices are ${choices.join(', ')}.${meant === undefined ? '' : `\n(Did you mean ${meant}?)`}`
}

const requireChoice = (word: string, choices: readonly string[]): string => {
  if (choices.includes(word)) return word
  throw new InvalidArgumentError(describeChoices(word, choices))
}

/** Returns the name of the current lab, and the text that describes this default in the help. */
export const currentLabDefault = (): [name: string, text: string] => [currentLab(), 'UNDERSTUDY_LAB, or "default"']

/** Returns examples for the end of a help text. The parameters are command lines without the word `understudy`. */
export const examples = (first: string, second: string, ...more: readonly string[]): string =>
  `\nExamples:\n${[first, second, ...more].map((line) => `  understudy ${line}`).join('\n')}`

/**
 * Returns the name and the arguments of a command for a list of commands. Omits the flags, so that the list fits 80
 * columns; the help of the command has them.
 */
export const commandTerm = (command: Command): string =>
  [
    command.name(),
    ...command.registeredArguments.map((argument) => {
      const name = `${argument.name()}${argument.variadic ? '...' : ''}`
      return argument.required ? `<${name}>` : `[${name}]`
    }),
  ].join(' ')
