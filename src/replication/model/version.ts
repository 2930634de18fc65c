/** Compares version numbers of servers, for example `1.20.4+ent`. Ignores the suffix after the numbers. */

const numbersOf = (version: string): number[] =>
  (/^v?(\d+(?:\.\d+)*)/.exec(version)?.[1] ?? '0').split('.').map((part) => Number(part))

/** Returns a negative number if `a` is older than `b`, 0 if equal, positive if newer. */
const compareVersions = (a: string, b: string): number => {
  const left = numbersOf(a)
  const right = numbersOf(b)
  for (let i = 0; i < Math.max(left.length, right.length); i++) {
    const difference = (left[i] ?? 0) - (right[i] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}

/** Returns the reason why a secondary of one version cannot follow a primary of another, or undefined if it can. */
export const findVersionObjection = (secondary: string, primary: string): string | undefined =>
  compareVersions(secondary, primary) >= 0
    ? undefined
    : `secondary version ${secondary} is older than primary version ${primary}: replicating from a newer version to an ` +
      'older one is unsafe, upgrade the secondary first'

/** Returns true if the version supports activation tokens for a public key (1.3 or newer). */
export const hasPublicKeyTokens = (version: string): boolean => compareVersions(version, '1.3') >= 0
