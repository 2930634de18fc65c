import { readdirSync } from 'node:fs'
import { homedir, userInfo } from 'node:os'
import path from 'node:path'

/**
 * Everything that is remembered from one command to the next. A relative path would be another place in every directory that
 * a command is typed in, and its labs lost: one in XDG_STATE_HOME is ignored, as its specification wants, and so is an empty HOME.
 */
export const stateDirectory = (): string => {
  const { XDG_STATE_HOME: wanted = '' } = process.env
  return path.join(path.isAbsolute(wanted) ? wanted : path.join(homeDirectory(), '.local', 'state'), 'understudy')
}

const homeDirectory = (): string => (path.isAbsolute(homedir()) ? homedir() : userInfo().homedir)

export const labsDirectory = (): string => path.join(stateDirectory(), 'labs')

export const LAB_NAME = /^[A-Za-z0-9][\w.-]*$/

/** Names of all labs that have left anything behind, whole or damaged. */
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
