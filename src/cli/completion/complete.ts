import { readFileSync } from 'node:fs'
import path from 'node:path'
import { attempt } from '../../base/attempt.js'
import { currentLab, labsDirectory, listLabs } from '../../lab/model/state-directory.js'
import { listSnapshots } from '../../lab/snapshot/stored.js'
import type { Argument, Command, Option } from 'commander'

/** A matching word, with an optional description. */
export interface Candidate {
  readonly word: string
  readonly about: string
}

/**
 * Returns the words that fit at the cursor: commands, options and choices of the program, and names of labs, clusters
 * and so on from `names`. `words`: the words after the program name. The last one may be incomplete.
 */
export const complete = (program: CommandWords, words: readonly string[], names: Names): Candidate[] => {
  const current = words.at(-1) ?? ''
  const context = readWords(program, joinValues(words.slice(0, -1)))
  const [, flag, typed] = /^(--[\w-]+)=(.*)$/s.exec(current) ?? []
  const joined = flag === undefined ? undefined : findOption(context, flag)
  if (joined) {
    const values = valuesOf(joined, context, names).filter(({ word }) => word.startsWith(typed ?? ''))
    return values.map(({ word, about }) => ({ word: `${flag}=${word}`, about }))
  }
  return candidatesAt(context, current, names).filter(({ word }) => word.startsWith(current === '=' ? '' : current))
}

/** The parsed command line before the cursor. */
interface CompletionContext {
  readonly command: CommandWords
  /** The parent commands, outermost first. */
  readonly parents: readonly CommandWords[]
  /** The arguments of the command that precede the cursor. */
  readonly given: readonly string[]
  /** The option whose value is incomplete. */
  readonly option: OptionWords | undefined
  readonly used: ReadonlySet<string>
  /** The lab that the words before the cursor name. */
  readonly lab: string
  /** True after `--`. The words after it belong to another program. */
  readonly isAfterDashes: boolean
}

const readWords = (program: CommandWords, words: readonly string[]): CompletionContext => {
  let context: CompletionContext = {
    command: program,
    parents: [],
    given: [],
    option: undefined,
    used: new Set(),
    lab: currentLab(),
    isAfterDashes: false,
  }
  for (const word of words) context = readWord(context, word)
  return context
}

const readWord = (context: CompletionContext, word: string): CompletionContext => {
  if (context.isAfterDashes || word === '--') return { ...context, isAfterDashes: true }
  if (context.option)
    return { ...context, option: undefined, ...(context.option.long === '--name' ? { lab: word } : {}) }
  if (word.startsWith('-')) {
    const [flag = '', value] = word.split('=', 2)
    const option = findOption(context, flag)
    const used = new Set([...context.used, flag])
    if (!option) return { ...context, used }
    if (value !== undefined) return { ...context, used, lab: option.long === '--name' ? value : context.lab }
    return { ...context, used, option: option.takesValue ? option : undefined }
  }
  const command = word === HELP ? undefined : context.command.commands.find(({ name }) => name === word)
  if (!command) return { ...context, given: [...context.given, word] }
  return { ...context, command, parents: [...context.parents, context.command], given: [] }
}

const candidatesAt = (context: CompletionContext, current: string, names: Names): Candidate[] => {
  if (context.isAfterDashes) return []
  if (context.option) return valuesOf(context.option, context, names)
  if (current.startsWith('-')) {
    return optionsOf(context)
      .filter(
        ({ isHidden, long, short }) => !isHidden && !context.used.has(long) && !(short && context.used.has(short)),
      )
      .map(({ long, about }) => ({ word: long, about }))
  }
  const commands = context.command.commands.filter(({ isHidden }) => !isHidden)
  return [...commands.map(({ name, about }) => ({ word: name, about })), ...argumentsAt(context, names)]
}

/** Returns the candidates for the present argument. The last argument of a command may be repeatable. */
const argumentsAt = ({ command, given, lab }: CompletionContext, names: Names): Candidate[] => {
  const known = command.arguments
  const argument = known[given.length] ?? (known.at(-1)?.isVariadic ? known.at(-1) : undefined)
  if (!argument) return []
  const values = argument.choices ?? NAME_SOURCES[argument.name]?.(names, lab) ?? []
  return values.filter((word) => !given.includes(word)).map((word) => ({ word, about: '' }))
}

const valuesOf = (
  { placeholder, long, choices }: OptionWords,
  { lab }: CompletionContext,
  names: Names,
): Candidate[] => {
  const source = NAME_SOURCES[placeholder] ?? NAME_SOURCES[long.slice(2)]
  const values = choices ?? source?.(names, lab) ?? []
  return values.map((word) => ({ word, about: '' }))
}

const findOption = (context: CompletionContext, flag: string): OptionWords | undefined =>
  optionsOf(context).find(({ long, short }) => flag === long || flag === short)

const optionsOf = ({ command, parents }: CompletionContext): readonly OptionWords[] =>
  [command, ...parents.toReversed()].flatMap(({ options }) => options)

/** The command of commander whose arguments are the name of another command. */
const HELP = 'help'

/** Joins the words of an option, because some shells split `--name=lab` into three words. */
const joinValues = (words: readonly string[]): string[] => words.filter((word) => word !== '=')

/** Names for completion. Unreadable sources have no names, because a completion must not print errors. */
interface Names extends PackageNames {
  labs(): readonly string[]
  clusters(lab: string): readonly string[]
  snapshots(): readonly string[]
}

/** Names of built-in topologies and drills. */
export interface PackageNames {
  readonly topologies: readonly string[]
  readonly drills: readonly string[]
}

export const liveNames = (shipped: PackageNames): Names => ({
  ...shipped,
  labs: listLabs,
  clusters: clustersOf,
  snapshots: listSnapshots,
})

const clustersOf = (lab: string): readonly string[] =>
  attempt(() => {
    const record = JSON.parse(readFileSync(path.join(labsDirectory(), lab, 'lab.json'), 'utf8')) as {
      clusters: readonly { name: string }[]
    }
    return record.clusters.map(({ name }) => name)
  }) ?? []

type Source = (names: Names, lab: string) => readonly string[]

const labs: Source = (names) => names.labs()
const clusters: Source = (names, lab) => names.clusters(lab)

/** Sources of candidates, by the name of an argument or of an option value in the help. */
const NAME_SOURCES: Readonly<Record<string, Source>> = {
  lab: labs,
  cluster: clusters,
  clusters,
  other: clusters,
  lost: clusters,
  to: clusters,
  primary: clusters,
  secondary: clusters,
  former: clusters,
  what: clusters,
  topology: (names) => names.topologies,
  drill: (names) => names.drills,
  snapshot: (names) => names.snapshots(),
}

/** A command as plain data, so that a completion need not load the code of the commands. */
export interface CommandWords {
  readonly name: string
  readonly about: string
  readonly isHidden: boolean
  readonly options: readonly OptionWords[]
  readonly arguments: readonly ArgumentWords[]
  readonly commands: readonly CommandWords[]
}

type OptionWords = ReturnType<typeof optionWords>
type ArgumentWords = ReturnType<typeof argumentWords>

/** Returns a command and its subcommands as plain data. */
export const wordsOf = (command: Command): CommandWords => {
  const visible = command.createHelp().visibleCommands(command)
  return {
    name: command.name(),
    about: command.description(),
    isHidden: false,
    options: command.options.map(optionWords),
    arguments: command.registeredArguments.map(argumentWords),
    // Commander adds a help command, which is omitted here.
    commands: [...new Set([...command.commands, ...visible])].map((one) => ({
      ...wordsOf(one),
      isHidden: !visible.includes(one),
    })),
  }
}

const optionWords = ({ long, short, flags, argChoices, ...option }: Option) => ({
  long: long ?? '',
  short: short ?? '',
  about: option.description,
  isHidden: option.hidden,
  takesValue: option.required || option.optional,
  /** Name of its value in the help. */
  placeholder: /[<[]([^>\]]+)[>\]]/.exec(flags)?.[1] ?? '',
  choices: argChoices ?? null,
})

const argumentWords = (argument: Argument) => ({
  name: argument.name(),
  isVariadic: argument.variadic,
  choices: argument.argChoices ?? null,
})
