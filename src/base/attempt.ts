/** Returns the result of `work`; undefined if it throws, for example for an invalid input or a missing file. */
export const attempt = <T>(work: () => T): T | undefined => {
  try {
    return work()
  } catch {
    return undefined
  }
}
