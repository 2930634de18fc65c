import { type Outcome, simulate } from './simulate.js'

/** Maximum number of runs. */
export const TRIES_MAX = 400

interface Shrunk {
  /** The outcome of the shortest run that still fails in the same way, with its events. */
  readonly outcome: Outcome
  readonly tries: number
}

/** Called before each run with the number of acts of the shortest failing run. Returning false ends the search. */
type MayContinue = (left: number, tries: number) => boolean

/**
 * Removes parts of the acts, then smaller parts, as long as the rest fails as before (delta debugging). Returns
 * undefined if the seed does not fail.
 */
export const shrink = async (
  seed: number,
  play: typeof simulate = simulate,
  mayContinue: MayContinue = () => true,
): Promise<Shrunk | undefined> => {
  const whole = await play(seed)
  if (!whole.failure) return undefined
  const kind = kindOf(whole.failure)
  let [left, tries] = [namesOf(whole), 0]
  const fails = async (names: readonly string[]): Promise<boolean> => {
    tries++
    const outcome = await play(seed, { only: new Set(names) })
    if (!outcome.failure || kindOf(outcome.failure) !== kind) return false
    // The run may have failed before the last of them.
    left = namesOf(outcome)
    return true
  }
  let isOver = false
  const mayTry = () => {
    isOver ||= tries >= TRIES_MAX || !mayContinue(left.length, tries)
    return !isOver
  }
  for (let size = Math.ceil(left.length / 2); ; size = Math.ceil(size / 2)) {
    const before = left.length
    for (let at = 0; at < left.length && mayTry(); )
      if (!(await fails([...left.slice(0, at), ...left.slice(at + size)]))) at += size
    if (isOver || (size === 1 && left.length === before)) break
  }
  return { outcome: await play(seed, { only: new Set(left), isTraced: true }), tries }
}

const namesOf = ({ acts }: Outcome): string[] => acts.map(({ name }) => name)

/** Returns the kind of a failure: its text without names and numbers, which differ between runs. */
const kindOf = ({ name, message }: Error): string => {
  const words = message.split(/\s+/).filter((word) => /^[a-z]{2,}[,:]?$/.test(word))
  return `${name} ${words.slice(0, KIND_WORDS).join(' ')}`
}

const KIND_WORDS = 5
