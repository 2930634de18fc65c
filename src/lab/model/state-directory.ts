import { readdirSync } from 'node:fs'
import { homedir, userInfo } from 'node:os'
import path from 'node:path'

/**
 * Returns the directory of all persistent state. As the XDG specification requires, a relative XDG_STATE_HOME is ignored: it
 * would name a different directory, and thus other labs, in each working directory. An empty HOME is also ignored.
 */
export const stateDirectory = (): string => {
  const { XDG_STATE_HOME: wanted = '' } = process.env
  return path.join(path.isAbsolute(wanted) ? wanted : path.join(homeDirectory(), '.local', 'state'), 'understudy')
}

const homeDirectory = (): string => (path.isAbsolute(homedir()) ? homedir() : userInfo().homedir)

export const labsDirectory = (): string => path.join(stateDirectory(), 'labs')

export const LAB_NAME = /^[A-Za-z0-9][\w.-]*$/

/** Returns the names of all labs with files, intact or damaged. */
export const listLabs = (): string[] => {
  try {
    return readdirSync(labsDirectory(), { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && LAB_NAME.test(entry.name))
      .map((entry) => entry.name)
      .sort()
  } catch {
    return []
  }
}
