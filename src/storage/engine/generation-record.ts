import { readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { shellWord } from '../../base/shell.js'
import { LogicalError } from '../../logical/errors.js'
import { absent, writeFileDurably } from './durable-file.js'

/**
 * Content of the file that records which generation of a data directory is live, and which are condemned (must be
 * removed). A new generation is condemned until it is live. A replaced generation is condemned until it is destroyed.
 * Only condemned generations are removed from the directory.
 */
interface GenerationRecord {
  /** Undefined while the very first generation is being created. */
  readonly live: number | undefined
  readonly condemned: readonly number[]
}

const RECORD = 'live'
const NONE = 'none'
const CONDEMNED = 'condemned '
const GENERATION = /^generation-(\d+)$/

const nameOf = (generation: number): string => `generation-${generation}`

export const generationDirectory = (path: string, generation: number): string => join(path, nameOf(generation))

const generationOf = (name: string): number | undefined => {
  const found = GENERATION.exec(name)
  return found === null ? undefined : Number(found[1])
}

/** Returns the numbers of the generations in a data directory, ascending; empty if the directory does not exist. */
export const findGenerations = async (path: string): Promise<number[]> => {
  const names = await readdir(path).catch(absent)
  return (names ?? []).flatMap((name) => generationOf(name) ?? []).sort((a, b) => a - b)
}

/** Removes all generations from a data directory, because its data has moved elsewhere. Other files stay. */
export const removeGenerations = async (path: string): Promise<void> => {
  for (const generation of await findGenerations(path)) {
    await rm(generationDirectory(path, generation), { recursive: true, force: true })
  }
  await rm(join(path, RECORD), { force: true })
}

export const writeGenerationRecord = (path: string, { live, condemned }: GenerationRecord): Promise<void> => {
  const lines = [live === undefined ? NONE : nameOf(live), ...condemned.map((one) => CONDEMNED + nameOf(one))]
  return writeFileDurably(join(path, RECORD), `${lines.join('\n')}\n`)
}

/**
 * Reads the record. Resolves to undefined if the directory has neither a record nor a generation: no server has started
 * on it. Rejects with `LogicalError` if the record is invalid, or missing although there are generations.
 */
export const readGenerationRecord = async (path: string): Promise<GenerationRecord | undefined> => {
  const text = await readFile(join(path, RECORD), 'utf8').catch(absent)
  const found = await findGenerations(path)
  if (text === undefined) {
    if (found.length === 0) return undefined
    throw unclear(path, 'is missing', found)
  }
  const record = parseRecord(text)
  if (!record) throw unclear(path, 'does not say which generation is live', found)
  if (record.live === undefined ? found.some((one) => !record.condemned.includes(one)) : !found.includes(record.live)) {
    const named = record.live === undefined ? 'no generation' : `${nameOf(record.live)}, which is missing`
    throw unclear(path, `names ${named}`, found)
  }
  return record
}

/** Resolves to the number of the live generation, or to undefined if the record is missing, invalid or unreadable. */
export const findLive = (path: string): Promise<number | undefined> =>
  readGenerationRecord(path).then(
    (record) => record?.live,
    () => undefined,
  )

const parseRecord = (text: string): GenerationRecord | undefined => {
  // A record without its final newline was truncated.
  if (!text.endsWith('\n')) return undefined
  const [first = '', ...rest] = text.slice(0, -1).split('\n')
  const live = first === NONE ? undefined : generationOf(first)
  if (live === undefined && first !== NONE) return undefined
  const condemned: number[] = []
  for (const line of rest) {
    const generation = line.startsWith(CONDEMNED) ? generationOf(line.slice(CONDEMNED.length)) : undefined
    if (generation === undefined || generation === live) return undefined
    condemned.push(generation)
  }
  return { live, condemned }
}

const unclear = (path: string, what: string, found: readonly number[]): LogicalError =>
  new LogicalError(
    'internal',
    `the file ${join(path, RECORD)}, which names the live generation of the data, ${what}; ` +
      `found: ${found.map(nameOf).join(', ') || 'none'}; nothing was changed. To inspect the generations, use ` +
      `"understudy storage list --data-dir ${shellWord(path)}". To select a generation, use "understudy storage ` +
      `adopt --data-dir ${shellWord(path)} --generation N"`,
  )
