/** Text in lines of even length, as the reference wraps what it tells people. */

/** Widest line. */
export const COLUMNS = 78

/** A line that a long word makes too wide costs this on top, so that there are as few as can be. */
const TOO_WIDE = 1e5

/**
 * Breaks a text into lines of at most `width`, with breaks where the squares of the room left over are least in sum. The
 * last line may be short; all white space counts as one blank; only a word that is longer makes a line wider.
 */
export const wrapText = (text: string, width: number): string[] => {
  const words = text.split(/\s+/).filter(Boolean)
  /** For what begins at each word: what it costs, and where its first line ends. */
  const plans: { cost: number; end: number }[] = []
  for (let start = words.length - 1; start >= 0; start--) plans[start] = planFrom(words, start, width, plans)
  const lines: string[] = []
  for (let start = 0; start < words.length; ) {
    const end = plans[start]?.end ?? words.length
    lines.push(words.slice(start, end).join(' '))
    start = end
  }
  return lines
}

type Plan = { cost: number; end: number }

const planFrom = (words: readonly string[], start: number, width: number, plans: readonly Plan[]): Plan => {
  let best: Plan = { cost: Number.POSITIVE_INFINITY, end: start + 1 }
  let length = -1
  for (let end = start + 1; end <= words.length; end++) {
    length += 1 + (words[end - 1]?.length ?? 0)
    const isTooWide = length > width
    if (end === words.length && !isTooWide) return { cost: 0, end }
    const cost = (width - length) ** 2 + (isTooWide ? TOO_WIDE : 0) + (plans[end]?.cost ?? 0)
    if (cost < best.cost) best = { cost, end }
    if (isTooWide) break
  }
  return best
}

/** Wrapped text with each line set in by `indent` blanks, which count. */
export const wrapIndented = (text: string, indent: number): string =>
  wrapText(text, COLUMNS - indent)
    .map((line) => ' '.repeat(indent) + line)
    .join('\n')
