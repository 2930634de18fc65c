import type { Command, Option } from 'commander'
import { type Names, NAME_SOURCES } from './names.js'

/** One word that fits, with what it is about where that is known. */
interface Candidate {
  readonly word: string
  readonly about: string
}

/**
 * What may stand where the cursor is. `words` are those behind the name of the program, the last one as far as it is typed.
 * Words come from the commands, options and choices of the program itself; names of labs, clusters and the like from
 * `names`.
 */
export const complete = (program: Command, words: readonly string[], names: Names): Candidate[] => {
  const current = words.at(-1) ?? ''
  const place = readWords(program, joinValues(words.slice(0, -1)))
  const [, flag, typed] = /^(--[\w-]+)=(.*)$/s.exec(current) ?? []
  const joined = flag === undefined ? undefined : findOption(place.command, flag)
  if (joined) {
    const values = valuesOf(joined, place, names).filter(({ word }) => word.startsWith(typed ?? ''))
    return values.map(({ word, about }) => ({ word: `${flag}=${word}`, about }))
  }
  return candidatesAt(place, current, names).filter(({ word }) => word.startsWith(current === '=' ? '' : current))
}

/** What the words before the cursor say. */
interface Place {
  readonly command: Command
  /** Arguments of the command so far. */
  readonly given: readonly string[]
  /** An option that waits for its value. */
  readonly option: Option | undefined
  readonly used: ReadonlySet<string>
  /** Of the lab that is spoken of. */
  readonly lab: string
  /** Behind `--` stand another program's words. */
  readonly isOver: boolean
}

const readWords = (program: Command, words: readonly string[]): Place => {
  let place: Place = { command: program, given: [], option: undefined, used: new Set(), lab: 'default', isOver: false }
  for (const word of words) place = readWord(place, word)
  return place
}

const readWord = (place: Place, word: string): Place => {
  if (place.isOver || word === '--') return { ...place, isOver: true }
  if (place.option) return { ...place, option: undefined, ...(place.option.long === '--name' ? { lab: word } : {}) }
  if (word.startsWith('-')) {
    const [flag = '', value] = word.split('=', 2)
    const option = findOption(place.command, flag)
    const used = new Set([...place.used, flag])
    if (!option) return { ...place, used }
    if (value !== undefined) return { ...place, used, lab: option.long === '--name' ? value : place.lab }
    return { ...place, used, option: takesValue(option) ? option : undefined }
  }
  const command = place.command.commands.find((one) => one.name() === word)
  return command ? { ...place, command, given: [] } : { ...place, given: [...place.given, word] }
}

const candidatesAt = (place: Place, current: string, names: Names): Candidate[] => {
  if (place.isOver) return []
  if (place.option) return valuesOf(place.option, place, names)
  if (current.startsWith('-')) {
    return optionsOf(place.command)
      .filter(({ hidden, long, short }) => !hidden && !place.used.has(long ?? '') && !place.used.has(short ?? ''))
      .map(({ long, description }) => ({ word: long ?? '', about: description }))
  }
  const help = place.command.createHelp()
  const commands = help.visibleCommands(place.command).map((one) => ({ word: one.name(), about: one.description() }))
  return [...commands, ...argumentsAt(place, names)]
}

/** The last argument may stand there several times. */
const argumentsAt = ({ command, given, lab }: Place, names: Names): Candidate[] => {
  const known = command.registeredArguments
  const argument = known[given.length] ?? (known.at(-1)?.variadic ? known.at(-1) : undefined)
  if (!argument) return []
  const values = argument.argChoices ?? NAME_SOURCES[argument.name()]?.(names, lab) ?? []
  return values.filter((word) => !given.includes(word)).map((word) => ({ word, about: '' }))
}

const valuesOf = (option: Option, { lab }: Place, names: Names): Candidate[] => {
  const [, placeholder = ''] = /[<[]([^>\]]+)[>\]]/.exec(option.flags) ?? []
  const source = NAME_SOURCES[placeholder] ?? NAME_SOURCES[option.long?.slice(2) ?? '']
  const values = option.argChoices ?? source?.(names, lab) ?? []
  return values.map((word) => ({ word, about: '' }))
}

const takesValue = ({ required, optional }: Option): boolean => required || optional

const findOption = (command: Command, flag: string): Option | undefined =>
  optionsOf(command).find(({ long, short }) => flag === long || flag === short)

/** Its own and those of the commands above it. */
const optionsOf = (command: Command): readonly Option[] => [
  ...command.options,
  ...(command.parent ? optionsOf(command.parent) : []),
]

/** A shell may take `--name=lab` for three words. */
const joinValues = (words: readonly string[]): string[] => words.filter((word) => word !== '=')
