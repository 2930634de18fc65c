import { readdirSync } from 'node:fs'
import { homedir, userInfo } from 'node:os'
import path from 'node:path'
import { attempt } from '../../base/attempt.js'

/**
 * Returns the directory of all persistent state. Ignores a relative XDG_STATE_HOME, as the XDG specification requires:
 * it would select different labs in each working directory. Also ignores an empty HOME.
 */
export const stateDirectory = (): string => {
  const { XDG_STATE_HOME: given = '' } = process.env
  return path.join(path.isAbsolute(given) ? given : path.join(homeDirectory(), '.local', 'state'), 'understudy')
}

const homeDirectory = (): string => (path.isAbsolute(homedir()) ? homedir() : userInfo().homedir)

export const labsDirectory = (): string => path.join(stateDirectory(), 'labs')

export const LAB_NAME = /^[A-Za-z0-9][\w.-]*$/

const DEFAULT_LAB = 'default'

/** Returns the name of the current lab: the value of UNDERSTUDY_LAB, or `default`. */
export const currentLab = (): string => process.env.UNDERSTUDY_LAB || DEFAULT_LAB

/**
 * Returns the flag that names a lab in printed commands. Empty for the lab that every shell without UNDERSTUDY_LAB
 * uses.
 */
export const nameFlag = (lab: string): string =>
  lab === DEFAULT_LAB && currentLab() === DEFAULT_LAB ? '' : ` --name ${lab}`

/** Returns the names of all labs that have a directory, even if the record of a lab is damaged. */
export const listLabs = (): string[] =>
  attempt(() =>
    readdirSync(labsDirectory(), { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && LAB_NAME.test(entry.name))
      .map((entry) => entry.name)
      .sort(),
  ) ?? []
