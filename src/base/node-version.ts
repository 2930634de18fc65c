/**
 * The lowest supported version of Node, as in `engines` of package.json. An older Node must be able to load this file,
 * so the file must not use newer features.
 */
export const NODE_NEEDED = '20.12'

/** Returns true if a version of Node, such as `18.19.0`, is too old. */
export const isTooOld = (version: string): boolean => {
  const [major = 0, minor = 0] = partsOf(version)
  const [majorNeeded = 0, minorNeeded = 0] = partsOf(NODE_NEEDED)
  return major < majorNeeded || (major === majorNeeded && minor < minorNeeded)
}

/** Returns the reason why this program cannot run on a version of Node; undefined if it can. */
export const findNodeProblem = (version: string): string | undefined =>
  isTooOld(version) ? `understudy requires Node ${NODE_NEEDED} or newer, but this is Node ${version}` : undefined

const partsOf = (version: string): readonly number[] => version.split('.').map(Number)
