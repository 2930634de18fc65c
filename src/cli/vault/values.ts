/** Parses the data arguments of the command line: `key=value`, `key=@file`, `key=-`, `@file.json` and `-`. */
import { readNamedText } from '../../base/named-file.js'
import { LIMITS } from '../../base/limits.js'
import { parseExactJson } from '../../base/exact-json.js'
import { isMap, type JsonMap, localError, locally, type VaultIo } from './model.js'
import { goText } from './text.js'

const PARSE_FAILED = 'Failed to parse K=V data'

/**
 * Returns the object that `args` describe. The arguments `-` and `@file` read a JSON object from standard input or a
 * file. In all other arguments, the values are texts. The values of a repeated key become a list. Rejects with a local
 * error for an invalid argument or file.
 */
export const readData = async (args: readonly string[], io: Pick<VaultIo, 'readStdin'>): Promise<JsonMap> => {
  const data = Object.create(null) as Record<string, unknown>
  for (const arg of args) {
    for (const [key, value] of await readArgument(arg, io)) {
      const known = Object.hasOwn(data, key) ? data[key] : undefined
      data[key] = known === undefined ? value : [known, value].flat()
    }
  }
  return data
}

/** Reads the data arguments for a query string. All values become texts. */
export const readQuery = async (args: readonly string[], io: Pick<VaultIo, 'readStdin'>) =>
  Object.fromEntries(
    Object.entries(await readData(args, io)).map(([key, value]) => [
      key,
      Array.isArray(value) ? value.map(goText) : goText(value),
    ]),
  )

const readArgument = async (arg: string, io: Pick<VaultIo, 'readStdin'>): Promise<[string, unknown][]> => {
  if (arg === '-') return Object.entries(parseObject((await io.readStdin()).toString('utf8'), 'standard input'))
  if (arg.startsWith('@')) return Object.entries(parseObject(readValueFile(arg.slice(1)), arg.slice(1)))
  const at = arg.indexOf('=')
  if (at < 0) throw localError(`${PARSE_FAILED}: ${JSON.stringify(arg)} is not of the form key=value`)
  return [[arg.slice(0, at), await readText(arg.slice(at + 1), io)]]
}

/**
 * Returns the text that an argument denotes: `-` is replaced by standard input, and `@file` by the contents of the
 * file. `\@` is replaced by `@`, so that a text can begin with `@`.
 */
export const readText = async (text: string, io: Pick<VaultIo, 'readStdin'>): Promise<string> => {
  if (text === '-') return (await io.readStdin()).toString('utf8')
  if (text.startsWith('@')) return readValueFile(text.slice(1))
  return text.startsWith('\\@') ? text.slice(1) : text
}

const readValueFile = (file: string): string =>
  locally(`${PARSE_FAILED}: error reading file`, () => readNamedText(file, LIMITS.bodyBytesMax))

const parseObject = (text: string, origin: string): JsonMap => {
  const value = locally(`${PARSE_FAILED}: ${origin} is not JSON`, () => parseExactJson(text, LIMITS.jsonDepthMax))
  if (!isMap(value)) throw localError(`${PARSE_FAILED}: ${origin} is not a JSON object`)
  return value
}

/** Returns a path without leading and trailing slashes. */
export const cleanPath = (path: string): string => path.trim().replace(/^\/+|\/+$/g, '')
