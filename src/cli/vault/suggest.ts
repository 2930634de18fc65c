/** Which command somebody may have meant. */
import { countSlips } from '../../base/nearest.js'

/** More than this many slips in one name are no slips, nor more than a part of its letters. */
const SLIPS_MAX = 3
const PART_MAX = 0.4
const SHOWN_MAX = 3

/**
 * Names that look most like the beginning of `words`, best first; none when nothing comes near. A name of so many words is
 * compared with as many of `words`. Where words are the name of a family, only what belongs to it can have been meant.
 */
export const suggest = (words: readonly string[], names: Iterable<string>): string[] => {
  const known = new Set(names)
  const family = words.findLastIndex((_, at) => known.has(words.slice(0, at + 1).join(' '))) + 1
  const within = words.slice(0, family).join(' ')
  const near = [...known].flatMap((name) => {
    if (family > 0 && !name.startsWith(`${within} `)) return []
    const typed = words.slice(0, name.split(' ').length).join(' ')
    const slips = countSlips(typed, name)
    const count = name.split(' ').length
    return slips > 0 && slips <= SLIPS_MAX && slips <= name.length * PART_MAX ? [{ name, slips, count }] : []
  })
  const fewest = Math.min(...near.map(({ slips }) => slips))
  const best = near.filter(({ slips }) => slips === fewest)
  // With the same slips the name of more words is what the rest of the line says, too.
  const most = Math.max(...best.map(({ count }) => count))
  return best
    .filter(({ count }) => count === most)
    .slice(0, SHOWN_MAX)
    .map(({ name }) => name)
}
