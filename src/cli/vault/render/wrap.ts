/** Wraps text into lines of even length, like Vault. */

/** Maximum line width. */
export const COLUMNS = 78

/** Additional cost of a line that a long word makes too wide, to minimize the number of such lines. */
const TOO_WIDE = 1e5

/**
 * Breaks a text into lines of at most `width`. Minimizes the sum of the squared remaining spaces. The last line may be
 * short. All white space counts as one space. Only a longer word makes a line wider.
 */
export const wrapText = (text: string, width: number): string[] => {
  const words = text.split(/\s+/).filter(Boolean)
  /** For the text from each word on: its cost, and the end of its first line. */
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

/** Wraps text and indents each line by `indent` spaces, which count toward the width. */
export const wrapIndented = (text: string, indent: number): string =>
  wrapText(text, COLUMNS - indent)
    .map((line) => ' '.repeat(indent) + line)
    .join('\n')
