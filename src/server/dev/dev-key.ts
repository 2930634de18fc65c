import { existsSync } from 'node:fs'
import { replaceFile } from '../../base/replace-file.js'
import { readNamedText } from '../../base/named-file.js'

/** The secrets that `server -dev` prints. */
export interface DevSecrets {
  readonly rootToken: string
  readonly unsealKey: string
}

/**
 * Reads the secrets with which a development server with a data directory unseals itself. The file is readable only by its
 * owner.
 */
export const readDevKey = (file: string): DevSecrets | undefined =>
  existsSync(file) ? (JSON.parse(readNamedText(file)) as DevSecrets) : undefined

export const writeDevKey = (file: string, secrets: DevSecrets): void => {
  replaceFile(file, `${JSON.stringify(secrets)}\n`)
}
