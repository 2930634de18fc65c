import { readFileSync } from 'node:fs'
import { type Candidate, complete, liveNames } from './complete.js'
import type { ShippedWords } from './shipped.js'

/**
 * `understudy __complete -- WORD...`: prints the candidates for the last word, one per line, with a description after a
 * tab. A shell calls this at each key press, so it loads as little as possible.
 */
export const runComplete = async (args: readonly string[]): Promise<string> => {
  const words = args[0] === '--' ? args.slice(1) : args
  const shipped = await loadWords()
  const found =
    words[0] === 'vault' && words.length > 1
      ? vaultWords(shipped.vault, words.slice(1))
      : complete(shipped.program, words, liveNames(shipped))
  return found.map(({ word, about }) => `${about === '' ? word : `${word}\t${about.split('\n')[0]}`}\n`).join('')
}

/** Loads the words from the file of the build, or from the sources if there is no build. */
const loadWords = async (): Promise<ShippedWords> => {
  try {
    return JSON.parse(readFileSync(new URL('./words.json', import.meta.url), 'utf8')) as ShippedWords
  } catch {
    return (await import('./shipped.js')).shippedWords()
  }
}

/** Returns the next words of the commands of the `vault` command line, for example `list` after `auth`. */
const vaultWords = (commands: readonly string[], words: readonly string[]): Candidate[] => {
  const before = words.slice(0, -1)
  const next = commands
    .map((name) => name.split(' '))
    .filter((name) => name.length > before.length && before.every((word, index) => word === name[index]))
    .map((name) => name[before.length] ?? '')
  return [...new Set(next)].filter((word) => word.startsWith(words.at(-1) ?? '')).map((word) => ({ word, about: '' }))
}
