import { readdirSync } from 'node:fs'
import { homedir } from 'node:os'
import path from 'node:path'

/** Everything that is remembered from one command to the next. */
export const stateDirectory = (): string =>
  path.join(process.env.XDG_STATE_HOME || path.join(homedir(), '.local', 'state'), 'understudy')

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
