import { type Command, InvalidArgumentError, Option } from 'commander'
import { LabError } from '../../lab/model/lab-error.js'
import type { GenerationVerification, ListedRecord } from '../../server/data/storage-inspection.js'
import { formatTable, type Output } from '../terminal/output.js'
import { TypedCommand } from '../terminal/command.js'

/** `understudy storage list|verify|adopt`: shows and verifies the data directory of a stopped server. */
export const storageCommand = (output: Output): Command => {
  const storage = new TypedCommand('storage')
    .description('inspect and recover the data directory of a stopped server')
    .examples('storage list --data-dir ./data', 'storage verify --data-dir ./data')
  const add = (name: string, about: string) =>
    storage.command(name).description(about).required('--data-dir <path>', 'data directory of the server')
  add('list', 'list all stored entries with their SHA-256 hashes')
    .json()
    .examples('storage list --data-dir ./data', 'storage list --data-dir ./data --json')
    .run(({ dataDir, json }) =>
      inspectStorage(async ({ listStorage }) => {
        const records: ListedRecord[] = []
        for await (const record of listStorage(dataDir)) records.push(record)
        if (json) {
          output.data(JSON.stringify(records, undefined, 2))
          return
        }
        const header = ['generation', 'category', 'key', 'bytes', 'sha256']
        const rows = records.map((row) => [
          row.isLive ? `${row.generation}` : `${row.generation} (not live)`,
          row.category,
          row.key,
          `${row.valueBytes}`,
          row.sha256,
        ])
        output.data(formatTable([header, ...rows]))
      }),
    )
  add('verify', 'verify the log and the data of a stopped server')
    .flag('--root-key-file <file>', 'file with the root key, which decrypts and verifies every value')
    .flag('--unseal-key-file <file>', 'file with unseal keys, one per line, which decrypt the root key')
    .add<{ readonly generation?: number }>(generationOption('number of the generation (default: the live one)'))
    .json()
    .examples('storage verify --data-dir ./data', 'storage verify --data-dir ./data --unseal-key-file keys.txt --json')
    .run(({ dataDir, json, generation, ...keys }) =>
      inspectStorage(async ({ verifyStorage }) => {
        const found = await verifyStorage(dataDir, keys, generation)
        output.data(json ? JSON.stringify(toJson(found), undefined, 2) : describe(found).join('\n'))
        if (!found.isSound) throw new LabError('remote', `the storage in ${dataDir} is damaged`)
      }),
    )
  add('adopt', 'select the copy of the data that the server uses')
    .add<{ readonly generation: number }>(
      generationOption('number of the generation (copy of the data), from "storage list"').makeOptionMandatory(),
    )
    .flag(
      '--force',
      'adopt a damaged generation, whose log is discarded up to the damage, or an empty one, which is not initialized',
    )
    .examples(
      'storage adopt --data-dir ./data --generation 2',
      'storage adopt --data-dir ./data --generation 1 --force',
    )
    .run(({ dataDir, generation, force }) =>
      inspectStorage(async ({ adoptStorage }) => {
        const { lastIndex, others, damaged, logDiscardedUpTo } = await adoptStorage(dataDir, generation, force === true)
        output.data(
          `generation ${generation} is live; ${lastIndex === undefined ? 'it is empty' : `its last index is ${lastIndex}`}`,
        )
        if (logDiscardedUpTo !== undefined) {
          output.data(
            `its log was discarded up to index ${logDiscardedUpTo}: secondaries behind this index compare Merkle trees`,
          )
        }
        if (damaged.length > 0) output.data(`damaged: ${damaged.join(', ')}; some keys may be missing`)
        if (others.length > 0) output.data(`unchanged: ${others.map((one) => `generation-${one}`).join(', ')}`)
      }),
    )
  return storage
}

const generationOption = (about: string): Option => new Option('--generation <n>', about).argParser(parseGeneration)

const parseGeneration = (text: string): number => {
  if (/^[1-9]\d*$/.test(text)) return Number(text)
  throw new InvalidArgumentError('use a number of at least 1')
}

const toJson = ({ corruptPages, ...found }: GenerationVerification) => ({
  ...found,
  corruptPages: {
    replicated: [...corruptPages.replicated].map(([page, subPages]) => ({ page, subPages })),
    local: [...corruptPages.local].map(([page, subPages]) => ({ page, subPages })),
  },
})

const describe = (found: GenerationVerification): string[] => {
  const { replicated, local } = found.corruptPages
  const isLogSound = found.logProblem === undefined
  return [
    `generation  ${found.generation}`,
    `log         ${isLogSound ? `sound, ${found.firstIndex} to ${found.lastIndex}` : found.logProblem}`,
    `data        ${found.damage.length === 0 ? 'sound' : `damaged: ${found.damage.join('; ')}`}`,
    `merkle      ${describePages(isLogSound, replicated.size, local.size)}`,
    `values      ${describeValues(found.values)}`,
    `verdict     ${found.isSound ? 'sound' : 'NOT SOUND'}`,
  ]
}

const describePages = (isRead: boolean, replicated: number, local: number): string => {
  if (!isRead) return 'not checked: the log cannot be read'
  if (replicated + local === 0) return 'sound'
  return `${replicated} replicated and ${local} local pages differ from the data`
}

const describeValues = (values: GenerationVerification['values']): string => {
  if (!values) return 'not checked: specify --root-key-file or --unseal-key-file'
  if (values.damaged.length === 0) return `sound, ${values.opened} decrypted`
  return `${values.damaged.length} cannot be decrypted: ${values.damaged.join(', ')}`
}

type Inspection = typeof import('../../server/data/storage-inspection.js')

/**
 * Runs work on a data directory. Converts system errors, for example an unreadable directory, to `LabError`, so that
 * the command prints only their message.
 */
const inspectStorage = async (run: (inspection: Inspection) => Promise<void>): Promise<void> => {
  // Imported only here, because short commands start several times faster without it.
  const inspection = await import('../../server/data/storage-inspection.js')
  try {
    await run(inspection)
  } catch (thrown) {
    const error = inspection.explain(thrown)
    if (error instanceof LabError || !(error instanceof Error)) throw error
    if (error instanceof inspection.InUse) throw new LabError('conflict', error.message, { cause: error })
    if ('code' in error) throw new LabError('usage', error.message, { cause: error })
    throw error
  }
}
