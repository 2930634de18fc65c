import { type Outcome, simulate } from './simulate.js'

/** Stories are played again this often at most. */
export const TRIES_MAX = 400

interface Shrunk {
  /** Of the shortest story that still fails in the same way; told. */
  readonly outcome: Outcome
  readonly tries: number
}

/** Asked before each try, with the number of acts of the shortest story until then: false ends the search with that one. */
type GoesOn = (left: number, tries: number) => boolean

/**
 * Leaves out one part of the acts after another, then smaller ones, for as long as what is left fails as before (delta
 * debugging). Undefined when the seed does not fail.
 */
export const shrink = async (
  seed: number,
  play: typeof simulate = simulate,
  goesOn: GoesOn = () => true,
): Promise<Shrunk | undefined> => {
  const whole = await play(seed)
  if (!whole.failure) return undefined
  const kind = kindOf(whole.failure)
  let [left, tries] = [namesOf(whole), 0]
  const fails = async (names: readonly string[]): Promise<boolean> => {
    tries++
    const outcome = await play(seed, { only: new Set(names) })
    if (!outcome.failure || kindOf(outcome.failure) !== kind) return false
    // It may have failed before the last of them.
    left = namesOf(outcome)
    return true
  }
  let isOver = false
  const mayTry = () => {
    isOver ||= tries >= TRIES_MAX || !goesOn(left.length, tries)
    return !isOver
  }
  for (let size = Math.ceil(left.length / 2); ; size = Math.ceil(size / 2)) {
    const before = left.length
    for (let at = 0; at < left.length && mayTry(); )
      if (!(await fails([...left.slice(0, at), ...left.slice(at + size)]))) at += size
    if (isOver || (size === 1 && left.length === before)) break
  }
  return { outcome: await play(seed, { only: new Set(left), isTold: true }), tries }
}

const namesOf = ({ acts }: Outcome): string[] => acts.map(({ name }) => name)

/** What went wrong, without the names and numbers that differ from one story to the next. */
const kindOf = ({ name, message }: Error): string => {
  const words = message.split(/\s+/).filter((word) => /^[a-z]{2,}[,:]?$/.test(word))
  return `${name} ${words.slice(0, KIND_WORDS).join(' ')}`
}

const KIND_WORDS = 5
