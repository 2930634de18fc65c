/** The token that `login` keeps for later commands, in `.vault-token` of the home directory. */
import { replaceFile } from '../../base/replace-file.js'
import path from 'node:path'
import { readNamedText } from '../../base/named-file.js'
import { localError, messageOf } from './model/cli-error.js'

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
    replaceFile(fileIn(homeDirectory), token)
  } catch (error) {
    throw localError(`Error storing token: ${messageOf(error)}`, error)
  }
}
