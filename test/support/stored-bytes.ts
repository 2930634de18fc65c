import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { openForInspection } from '../../src/storage/inspection/inspect.js'
import { isPlainKey } from '../../src/storage/keys/key-families.js'
import { type Engine, prefixRange } from '../../src/storage/engine/engine.js'
import { DATA_PREFIX } from '../../src/storage/keys/raw-keys.js'

const WINDOW_BYTES = 64

/** Byte strings to search for, by the name that is reported. */
export type Needles = ReadonlyMap<string, Buffer>

/** Returns the first and last 64 bytes of every encrypted value in the live generation. The server must be stopped. */
export const storedWindows = async (dataDir: string): Promise<Needles> => {
  const windows = new Map<string, Buffer>()
  for await (const { isLive, engine } of openForInspection(dataDir)) {
    if (!isLive) continue
    for await (const chunk of engine.scan(prefixRange(DATA_PREFIX))) {
      for (const { key, value } of chunk) {
        if (isPlainKey(key.slice(DATA_PREFIX.length)) || value.length < WINDOW_BYTES) continue
        windows.set(`first bytes of ${key}`, Buffer.from(value.subarray(0, WINDOW_BYTES)))
        windows.set(`last bytes of ${key}`, Buffer.from(value.subarray(-WINDOW_BYTES)))
      }
    }
  }
  return windows
}

/** A file that only reserves disk space. It is skipped because reading its 8 MB would block servers in this process. */
const BALLAST = 'ballast'

/**
 * Returns the names of needles that a file below a directory contains. Ignores files that disappear in the meantime.
 */
export const findInFiles = (directory: string, needles: Needles): Set<string> => {
  const found = new Set<string>()
  for (const name of readdirSync(directory, { recursive: true, encoding: 'utf8' })) {
    const file = path.join(directory, name)
    if (path.basename(name) === BALLAST) continue
    if (!existsSync(file) || !statSync(file).isFile()) continue
    const bytes = readFileSync(file)
    for (const [what, needle] of needles) if (bytes.includes(needle)) found.add(what)
  }
  return found
}

/** Returns the numbers of the generations in a data directory. */
export const generationsOf = (dataDir: string): number[] =>
  readdirSync(dataDir)
    .flatMap((name) => /^generation-(\d+)$/.exec(name)?.[1] ?? [])
    .map(Number)

/** Returns the names of needles that the bytes contain. */
export const findInBytes = (bytes: Buffer, needles: Needles): string[] =>
  [...needles].flatMap(([what, needle]) => (bytes.includes(needle) ? [what] : []))

/** Returns the keys of entries whose key or value contains the text. */
export const findText = async (engine: Pick<Engine, 'scan'>, text: string): Promise<string[]> => {
  const found: string[] = []
  for await (const chunk of engine.scan({})) {
    for (const { key, value } of chunk) if (key.includes(text) || value.includes(text)) found.push(key)
  }
  return found
}
