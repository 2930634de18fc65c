import { readFileSync } from 'node:fs'
import path from 'node:path'
import { attempt } from '../../base/attempt.js'
import { currentLab, labsDirectory, listLabs } from '../../lab/model/state-directory.js'
import { listSnapshots } from '../../lab/snapshot/kept.js'
import type { Argument, Command, Option } from 'commander'

/** A matching word, with an optional description. */
export interface Candidate {
  readonly word: string
  readonly about: string
}

/**
 * Returns the words that fit at the cursor. `words` are those after the program name; the last one may be incomplete.
 * Candidates are the program's commands, options and choices. Names of labs, clusters and so on come from `names`.
 */
export const complete = (program: CommandWords, words: readonly string[], names: Names): Candidate[] => {
  const current = words.at(-1) ?? ''
  const place = readWords(program, joinValues(words.slice(0, -1)))
  const [, flag, typed] = /^(--[\w-]+)=(.*)$/s.exec(current) ?? []
  const joined = flag === undefined ? undefined : findOption(place, flag)
  if (joined) {
    const values = valuesOf(joined, place, names).filter(({ word }) => word.startsWith(typed ?? ''))
    return values.map(({ word, about }) => ({ word: `${flag}=${word}`, about }))
  }
  return candidatesAt(place, current, names).filter(({ word }) => word.startsWith(current === '=' ? '' : current))
}

/** The parsed command line before the cursor. */
interface CompletionContext {
  readonly command: CommandWords
  /** The parent commands. */
  readonly above: readonly CommandWords[]
  /** Arguments of the command so far. */
  readonly given: readonly string[]
  /** The option whose value is incomplete. */
  readonly option: OptionWords | undefined
  readonly used: ReadonlySet<string>
  /** The lab that the words before the cursor name. */
  readonly lab: string
  /** True after `--`, which ends the words of this program. */
  readonly isOver: boolean
}

const readWords = (program: CommandWords, words: readonly string[]): CompletionContext => {
  let place: CompletionContext = {
    command: program,
    above: [],
    given: [],
    option: undefined,
    used: new Set(),
    lab: currentLab(),
    isOver: false,
  }
  for (const word of words) place = readWord(place, word)
  return place
}

const readWord = (place: CompletionContext, word: string): CompletionContext => {
  if (place.isOver || word === '--') return { ...place, isOver: true }
  if (place.option) return { ...place, option: undefined, ...(place.option.long === '--name' ? { lab: word } : {}) }
  if (word.startsWith('-')) {
    const [flag = '', value] = word.split('=', 2)
    const option = findOption(place, flag)
    const used = new Set([...place.used, flag])
    if (!option) return { ...place, used }
    if (value !== undefined) return { ...place, used, lab: option.long === '--name' ? value : place.lab }
    return { ...place, used, option: option.takesValue ? option : undefined }
  }
  const command = word === HELP ? undefined : place.command.commands.find(({ name }) => name === word)
  if (!command) return { ...place, given: [...place.given, word] }
  return { ...place, command, above: [...place.above, place.command], given: [] }
}

const candidatesAt = (place: CompletionContext, current: string, names: Names): Candidate[] => {
  if (place.isOver) return []
  if (place.option) return valuesOf(place.option, place, names)
  if (current.startsWith('-')) {
    return optionsOf(place)
      .filter(({ isHidden, long, short }) => !isHidden && !place.used.has(long) && !(short && place.used.has(short)))
      .map(({ long, about }) => ({ word: long, about }))
  }
  const commands = place.command.commands.filter(({ isHidden }) => !isHidden)
  return [...commands.map(({ name, about }) => ({ word: name, about })), ...argumentsAt(place, names)]
}

/** Returns the candidates for the current argument. The last argument may be repeatable. */
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

const findOption = (place: CompletionContext, flag: string): OptionWords | undefined =>
  optionsOf(place).find(({ long, short }) => flag === long || flag === short)

const optionsOf = ({ command, above }: CompletionContext): readonly OptionWords[] =>
  [command, ...above.toReversed()].flatMap(({ options }) => options)

/** The words after `help` name a command. */
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

/** Sources by the name of an argument or option value in the help. */
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

/** The commands of the program as plain data, so that a completion need not load their code. */
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
