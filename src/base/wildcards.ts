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
