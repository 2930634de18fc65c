const STAR = 0x2a

/** Whether `path` is one of the patterns: a text in full, or any path that begins with what stands before a last `*`. */
export const isListed = (patterns: readonly string[], path: string): boolean => {
  for (const pattern of patterns) {
    if (pattern === path) return true
    const last = pattern.length - 1
    if (pattern.charCodeAt(last) === STAR && path.length >= last && path.startsWith(pattern.slice(0, last))) return true
  }
  return false
}
