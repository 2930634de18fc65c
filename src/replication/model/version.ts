/** Versions as servers report them: `1.20.4+ent`. What stands behind the numbers does not count. */

const numbersOf = (version: string): number[] =>
  (/^v?(\d+(?:\.\d+)*)/.exec(version)?.[1] ?? '0').split('.').map((part) => Number(part))

/** Negative when `a` is older than `b`, 0 when equal, positive when newer. */
const compareVersions = (a: string, b: string): number => {
  const left = numbersOf(a)
  const right = numbersOf(b)
  for (let i = 0; i < Math.max(left.length, right.length); i++) {
    const difference = (left[i] ?? 0) - (right[i] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}

/** Why a secondary of that version may not follow a primary of this one; undefined when it may. */
export const findVersionObjection = (secondary: string, primary: string): string | undefined =>
  compareVersions(secondary, primary) >= 0
    ? undefined
    : `secondary version ${secondary} is older than primary version ${primary}: replicating from a newer version to an ` +
      'older one is unsafe, upgrade the secondary first'

/** Public keys for activation tokens came with 1.3. */
export const hasPublicKeyTokens = (version: string): boolean => compareVersions(version, '1.3') >= 0
