/** The token that `login` keeps for later commands, in `.vault-token` of the home directory. */
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { readNamedText } from '../../base/named-file.js'
import { localError, messageOf } from './cli-error.js'

const fileIn = (homeDirectory: string): string => path.join(homeDirectory, '.vault-token')

/** Empty when there is none. */
export const readStoredToken = (homeDirectory: string): string => {
  try {
    return readNamedText(fileIn(homeDirectory)).trim()
  } catch {
    return ''
  }
}

/** Only its owner can read the file. */
export const storeToken = (homeDirectory: string, token: string): void => {
  try {
    writeFileSync(fileIn(homeDirectory), token, { mode: 0o600 })
  } catch (error) {
    throw localError(`Error storing token: ${messageOf(error)}`, error)
  }
}
