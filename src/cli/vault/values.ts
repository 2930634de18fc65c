/** Data of a write from the command line: `key=value`, `key=@file`, `key=-`, `@file.json`, `-`. */
import { readNamedText } from '../../base/named-file.js'
import { LIMITS } from '../../base/limits.js'
import { parseExactJson } from '../../base/exact-json.js'
import { isMap, type JsonMap, localError, locally, type VaultIo } from './model.js'
import { goText } from './text.js'

const FAILED = 'Failed to parse K=V data'

/**
 * Returns the object that `args` describe. A whole object comes from standard input (`-`) or a file (`@file`). A
 * repeated key becomes a list. Values are texts, unless they come from an object.
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

/** Returns data for a query, which can only contain texts. */
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
  if (at < 0) throw localError(`${FAILED}: ${JSON.stringify(arg)} is not of the form key=value`)
  return [[arg.slice(0, at), await readText(arg.slice(at + 1), io)]]
}

/**
 * Resolves a text that may name its source: `-` is standard input, `@file` a file, `\@` a text that begins with `@`.
 */
export const readText = async (text: string, io: Pick<VaultIo, 'readStdin'>): Promise<string> => {
  if (text === '-') return (await io.readStdin()).toString('utf8')
  if (text.startsWith('@')) return readValueFile(text.slice(1))
  return text.startsWith('\\@') ? text.slice(1) : text
}

const readValueFile = (file: string): string =>
  locally(`${FAILED}: error reading file`, () => readNamedText(file, LIMITS.bodyBytesMax))

const parseObject = (text: string, origin: string): JsonMap => {
  const value = locally(`${FAILED}: ${origin} is not JSON`, () => parseExactJson(text, LIMITS.jsonDepthMax))
  if (!isMap(value)) throw localError(`${FAILED}: ${origin} is not a JSON object`)
  return value
}

/** Returns a path without leading and trailing slashes. */
export const cleanPath = (path: string): string => path.trim().replace(/^\/+|\/+$/g, '')
