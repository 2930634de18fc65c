import { readNamedFile } from '../../../base/named-file.js'
import { localError, messageOf } from '../model/cli-error.js'

/** Reads public keys as base64 for the API from files in binary form or with armor. */
export const readPgpKeys = (files: readonly string[]): string[] => files.map(readPgpKey)

const readPgpKey = (name: string): string => {
  if (name.startsWith('keybase:')) throw localError('Keys are not fetched from keybase.io here: export them to a file')
  const bytes = readKeyFile(name.replace(/^@/, ''))
  const text = bytes.toString('latin1').trim()
  if (text.startsWith('-----BEGIN PGP')) return unwrapArmour(text)
  return /^[A-Za-z0-9+/\s]+=*$/.test(text) ? text.replace(/\s/g, '') : bytes.toString('base64')
}

const readKeyFile = (file: string): Buffer => {
  try {
    return readNamedFile(file)
  } catch (error) {
    throw localError(`The PGP key cannot be read: ${messageOf(error)}`, error)
  }
}

/** Returns the text between the headers, which an empty line ends, and the checksum. */
const unwrapArmour = (text: string): string => {
  const lines = text.split(/\r?\n/).map((line) => line.trim())
  const start = lines.indexOf('')
  const body = lines.slice(start + 1).filter((line) => line !== '' && !line.startsWith('-----'))
  return body.filter((line) => !/^=[A-Za-z0-9+/]{4}$/.test(line)).join('')
}
