import { invalid, LogicalError } from '../logical/errors.js'
import {
  findGenerations,
  generationDirectory,
  readGenerationRecord,
  writeGenerationRecord,
} from './engine/generation-record.js'
import { LevelEngine } from './engine/level-engine.js'
import { readState } from './load.js'

export interface Adopted {
  readonly generation: number
  /** Last index of its log; undefined when it holds nothing at all. */
  readonly lastIndex: number | undefined
  /** Generations that are left where they are. */
  readonly others: readonly number[]
}

/**
 * Makes a generation the live one of a data directory whose server is stopped, as it is: for when the record of it was
 * lost, or the data has lost its end. Nothing is destroyed, now or at the next start. One that holds nothing is refused unless `isForced`, since what
 * starts on it is a server that anybody may initialise.
 */
export const adoptGeneration = async (
  path: string,
  generation: number,
  { isForced }: { readonly isForced: boolean },
): Promise<Adopted> => {
  const found = await findGenerations(path)
  if (!found.includes(generation))
    throw invalid(`${generationDirectory(path, generation)} is no generation of the data`)
  await requireStopped(path, generation)
  const directory = generationDirectory(path, generation)
  const engine = await LevelEngine.open({ directory, createIfMissing: false, isDamageTaken: true })
  try {
    const state = readState(engine)
    if (!state && !isForced) {
      throw invalid(
        `generation ${generation} holds nothing: a server that starts on it is not initialized (see --force)`,
      )
    }
    const damaged = await engine.findDamage()
    if (damaged.length > 0 && !isForced) {
      throw invalid(
        `generation ${generation} is damaged in ${damaged.join(', ')}: keys of it may be missing (see --force)`,
      )
    }
    engine.acknowledge(state && { revision: state.revision, index: state.last.index })
    await engine.settleAcknowledged()
    await writeGenerationRecord(path, { live: generation, condemned: [] })
    return { generation, lastIndex: state?.last.index, others: found.filter((one) => one !== generation) }
  } finally {
    await engine.close()
  }
}

/** Whoever has the generation open that is live now would go on with it. */
const requireStopped = async (path: string, generation: number): Promise<void> => {
  const live = await readGenerationRecord(path).then(
    (record) => record?.live,
    () => undefined,
  )
  if (live === undefined || live === generation) return
  const options = { directory: generationDirectory(path, live), createIfMissing: false, isDamageTaken: true }
  const engine = await LevelEngine.open(options).catch((error: unknown) => {
    if (error instanceof LogicalError && error.code === 'unavailable') throw error
    return undefined
  })
  await (engine?.isUnchecked ? engine.discard() : engine?.close())
}
