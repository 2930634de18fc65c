/**
 * As in `engines` of package.json. All code that an older Node must load, including this file, must not use newer
 * features.
 */
export const NODE_NEEDED = '20.12'

/** Returns true if a version, for example `18.19.0`, is older. */
export const isTooOld = (version: string): boolean => {
  const [major = 0, minor = 0] = partsOf(version)
  const [majorNeeded = 0, minorNeeded = 0] = partsOf(NODE_NEEDED)
  return major < majorNeeded || (major === majorNeeded && minor < minorNeeded)
}

/** Returns why this program cannot run on a version of Node, or undefined. */
export const findNodeProblem = (version: string): string | undefined =>
  isTooOld(version) ? `understudy needs Node ${NODE_NEEDED} or newer, and this is ${version}` : undefined

const partsOf = (version: string): readonly number[] => version.split('.').map(Number)
