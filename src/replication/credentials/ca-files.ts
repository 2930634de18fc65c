import { messageOf } from '../../base/printable.js'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { readListedText, readNamedText } from '../../base/named-file.js'
import { inNoTime } from '../../base/turn.js'
import { parsePemCertificates } from '../../crypto/certificates.js'
import { invalid, LogicalError } from '../../logical/errors.js'

interface CaSources {
  /** A PEM file on this server. */
  readonly ca_file: string
  /** A directory of PEM files on this server. */
  readonly ca_path: string
  /** PEM text. */
  readonly ca_cert: string
}

/**
 * Resolves to the CA certificates of all given sources as PEM texts, or to an empty list if no source is given, so that
 * the system's CA certificates apply. Rejects with `LogicalError` `invalid-request` if a source is unreadable or
 * invalid.
 */
export const loadCaPems = async ({ ca_file, ca_path, ca_cert }: CaSources): Promise<string[]> => {
  const found: string[] = []
  if (ca_cert !== '') found.push(...parse('ca_cert', ca_cert))
  if (ca_file !== '') found.push(...parse(`ca_file "${ca_file}"`, await read('ca_file', ca_file)))
  if (ca_path !== '') {
    for (const name of await listFiles(ca_path)) {
      const file = join(ca_path, name)
      found.push(...parse(`"${file}" of ca_path`, await read('ca_path', file, readListedText)))
    }
  }
  return found
}

const listFiles = async (directory: string): Promise<string[]> => {
  const entries = await orFail('ca_path', directory, () => readdir(directory, { withFileTypes: true }))
  const names = entries.filter((entry) => !entry.isDirectory()).map((entry) => entry.name)
  if (names.length === 0) throw invalid(`error loading CA certificates: ca_path "${directory}" is empty`)
  return names.sort()
}

const read = (field: string, path: string, reader: (file: string) => string = readNamedText): Promise<string> =>
  orFail(field, path, async () => reader(path))

const orFail = async <T>(field: string, path: string, fn: () => Promise<T>): Promise<T> => {
  try {
    return await inNoTime(fn)
  } catch (cause) {
    const text = `error loading CA certificates: ${field} "${path}" cannot be read: ${messageOf(cause)}`
    throw new LogicalError('invalid-request', text, { cause })
  }
}

const parse = (what: string, text: string): string[] => {
  const found = parsePemCertificates(text)
  if (!found) throw invalid(`error loading CA certificates: ${what} contains no PEM certificate`)
  return found
}
