import { readdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { invalid, LogicalError } from '../../logical/errors.js'
import {
  findGenerations,
  generationDirectory,
  readGenerationRecord,
  writeGenerationRecord,
} from '../engine/generation-record.js'
import { LevelEngine } from '../engine/level-engine.js'
import { numberOf } from '../engine/value-reference.js'
import { readState } from '../commit/load.js'
import { findBreak, giveUpLog } from '../log/give-up.js'
import { WAL_PREFIX } from '../keys/raw-keys.js'
import type { WalPosition } from '../keys/replicable.js'
import type { StoreState } from '../state/store-state.js'

export interface Adopted {
  readonly generation: number
  /** Last index of its log; undefined when it holds nothing at all. */
  readonly lastIndex: number | undefined
  /** Generations that are left where they are. */
  readonly others: readonly number[]
  /** Files of the data that are not as they were written: what they held is refused to whoever reads it. */
  readonly damaged: readonly string[]
  /** Up to which index the log was given up because frames of it could not be read; undefined when all of it is there. */
  readonly logGivenUpTo: number | undefined
}

/**
 * Makes a generation the live one of a data directory whose server is stopped, as it is: for when the record of it was
 * lost, or the data has lost its end. Nothing of it is destroyed, now or at the next start, unless `isForced`: one that holds
 * nothing is refused else, since what starts on it is a server that anybody may initialise; so is one with damage. Of a log
 * that is damaged the frames up to there are given up then, which only secondaries that are behind would need.
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
  const engine = await LevelEngine.open({
    directory,
    createIfMissing: false,
    isDamageTaken: true,
    isSealIgnored: isForced,
  })
  let isAdopted = false
  try {
    const state = readState(engine)
    const base = state && (await findBreak(engine, state))
    const damaged = await findDamagedData(engine)
    const reason = describeProblem(generation, state, base, damaged)
    if (reason !== undefined && !isForced) throw invalid(`${reason} (see --force)`)
    if (isForced) await putAside(path, generation)
    const next = state && base ? await giveUpLog(engine, state, base) : state
    engine.acknowledge(next && { revision: next.revision, index: next.last.index })
    await engine.settleAcknowledged()
    await writeGenerationRecord(path, { live: generation, condemned: [] })
    isAdopted = true
    const others = found.filter((one) => one !== generation)
    return { generation, lastIndex: next?.last.index, others, damaged, logGivenUpTo: base?.index }
  } finally {
    // Sealed by one that was refused, damage would count as sound from then on.
    await (isAdopted || !engine.isUnchecked ? engine.close() : engine.discard())
  }
}

/** An entry in the place of a value that is no file cannot be sealed: it is kept beside the generation. */
const putAside = async (path: string, generation: number): Promise<void> => {
  const directory = generationDirectory(path, generation)
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    if (numberOf(entry.name) === undefined || entry.isFile()) continue
    await rename(join(directory, entry.name), `${directory}.aside-${entry.name}`)
  }
}

/** Names of files, but for those of frames of the log. */
const findDamagedData = async (engine: LevelEngine): Promise<string[]> => {
  const unreadable = [...(await engine.findUnreadable())]
  const ofLog = new Set(unreadable.flatMap(([key, name]) => (key.startsWith(WAL_PREFIX) ? [name] : [])))
  const names = new Set([...(await engine.findDamage()), ...unreadable.map(([, name]) => name)])
  return [...names].filter((name) => !ofLog.has(name)).sort()
}

/** Why a generation is adopted only by force, and what that costs. */
const describeProblem = (
  generation: number,
  state: StoreState | undefined,
  base: WalPosition | undefined,
  damaged: readonly string[],
): string | undefined => {
  if (!state) return `generation ${generation} holds nothing: a server that starts on it is not initialized`
  const problems: string[] = []
  if (damaged.length > 0) problems.push(`is damaged in ${damaged.join(', ')}: keys of it may be missing`)
  if (base) {
    problems.push(
      `has lost a part of its log, which would be given up to index ${base.index} of ${state.last.index}: no data goes with it, ` +
        'but secondaries that are behind that index compare merkle trees, and a failover cannot list what it has lost before it',
    )
  }
  return problems.length === 0 ? undefined : `generation ${generation} ${problems.join('; it ')}`
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
