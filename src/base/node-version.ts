/** As `engines` in package.json has it. Everything that an older Node can read has to stay free of what it lacks: this file, too. */
export const NODE_NEEDED = '20.12'

/** Whether this is an older one, such as `18.19.0`. */
export const isTooOld = (version: string): boolean => {
  const [major = 0, minor = 0] = partsOf(version)
  const [majorNeeded = 0, minorNeeded = 0] = partsOf(NODE_NEEDED)
  return major < majorNeeded || (major === majorNeeded && minor < minorNeeded)
}

const partsOf = (version: string): readonly number[] => version.split('.').map(Number)
