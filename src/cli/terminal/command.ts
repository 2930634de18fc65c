import { Command, Option } from 'commander'
import { currentLab } from '../../lab/model/state-directory.js'

type Camel<S extends string> = S extends `${infer Head}-${infer Tail}` ? `${Head}${Capitalize<Camel<Tail>>}` : S

/** The name of a flag in its action: `dryRun` for `-d, --dry-run <value>`. */
type NameOf<S extends string> = S extends `${string}--${infer Long} <${string}`
  ? Camel<Long>
  : S extends `${string}--${infer Long}`
    ? Camel<Long>
    : never

type ValueOf<S extends string> = S extends `${string} <${string}` ? string : true
type Maybe<S extends string, Value> = { readonly [N in NameOf<S>]?: Value }
type Always<S extends string, Value> = { readonly [N in NameOf<S>]: Value }

/** The declared flags of a command. */
export type FlagsOf<C> = C extends TypedCommand<infer Flags> ? Flags : never

/** A command of commander. The types of its flags follow from their declarations. */
export class TypedCommand<Flags = unknown> extends Command {
  override createCommand(name?: string): TypedCommand {
    return new TypedCommand(name)
  }

  /** Adds a flag: a switch, or a text if `spec` has a placeholder. */
  flag<S extends string>(spec: S, about: string): TypedCommand<Flags & Maybe<S, ValueOf<S>>>
  flag<S extends string>(spec: S, about: string, initial: string): TypedCommand<Flags & Always<S, string>>
  flag(spec: string, about: string, initial?: string): TypedCommand {
    return this.option(spec, about, initial)
  }

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

  /** Adds the flag that names the lab. */
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

  /** Adds the examples at the end of the help, at least two. */
  examples(first: string, second: string, ...more: readonly string[]): this {
    return this.addHelpText('after', examples(first, second, ...more))
  }

  /** Sets the action. It receives the flags, then the arguments. */
  run(act: (flags: Flags, ...args: never[]) => unknown): this {
    return this.action((...all: readonly unknown[]) => {
      const args = all.slice(0, this.registeredArguments.length)
      return act(this.opts() as Flags, ...(args as never[])) as Promise<void>
    })
  }
}

/** Returns the default of the name of a lab, and its text in the help. */
export const currentLabDefault = (): [name: string, text: string] => [currentLab(), 'UNDERSTUDY_LAB, or "default"']

/** Returns the examples at the end of a command's help, at least two. */
export const examples = (first: string, second: string, ...more: readonly string[]): string =>
  `\nExamples:\n${[first, second, ...more].map((line) => `  understudy ${line}`).join('\n')}`

/**
 * Returns a command's entry in a list. Flags are omitted, because they are in its own help and the list must fit 80
 * columns.
 */
export const commandTerm = (command: Command): string =>
  [
    command.name(),
    ...command.registeredArguments.map((argument) => {
      const name = `${argument.name()}${argument.variadic ? '...' : ''}`
      return argument.required ? `<${name}>` : `[${name}]`
    }),
  ].join(' ')
