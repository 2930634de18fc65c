/** The token that `login` stores for later commands, in `.vault-token` of the home directory. */
import { replaceFile } from '../../base/replace-file.js'
import path from 'node:path'
import { readNamedText } from '../../base/named-file.js'
import { localError, messageOf } from './model/cli-error.js'

const fileIn = (homeDirectory: string): string => path.join(homeDirectory, '.vault-token')

/** Returns an empty text if there is none. */
export const readStoredToken = (homeDirectory: string): string => {
  try {
    return readNamedText(fileIn(homeDirectory)).trim()
  } catch {
    return ''
  }
}

/** Stores the token in a file that only its owner can read. */
export const storeToken = (homeDirectory: string, token: string): void => {
  try {
    replaceFile(fileIn(homeDirectory), token)
  } catch (error) {
    throw localError(`Error storing token: ${messageOf(error)}`, error)
  }
}
