/** Returns whether the text matches a pattern in which each `*` stands for any text. Takes linear time. */
export const matchesWildcards = (pattern: string, text: string): boolean => {
  const [first = '', ...parts] = pattern.split('*')
  const last = parts.pop()
  if (last === undefined) return text === pattern
  if (!text.startsWith(first) || !text.endsWith(last)) return false
  let at = first.length
  for (const part of parts) {
    const found = text.indexOf(part, at)
    if (found < 0) return false
    at = found + part.length
  }
  return at <= text.length - last.length
}

/**
 * Returns whether the text matches a pattern in which only a leading or trailing `*` stands for any text. The
 * pattern `*` is literal.
 */
export const matchesOpenEnds = (pattern: string, text: string): boolean => {
  const isOpenStart = pattern.length > 1 && pattern.startsWith('*')
  const isOpenEnd = pattern.length > 1 && pattern.endsWith('*')
  const core = pattern.slice(isOpenStart ? 1 : 0, isOpenEnd ? -1 : undefined)
  if (isOpenStart && isOpenEnd) return text.includes(core)
  if (isOpenStart) return text.endsWith(core)
  return isOpenEnd ? text.startsWith(core) : text === core
}
