import { readdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { invalid, LogicalError } from '../../logical/errors.js'
import { findGenerations, findLive, generationDirectory, writeGenerationRecord } from '../engine/generation-record.js'
import { LevelEngine } from '../engine/level-engine.js'
import { numberOf } from '../engine/value-reference.js'
import { readState } from '../commit/load.js'
import { findBreak, giveUpLog } from '../log/give-up.js'
import { WAL_PREFIX } from '../keys/raw-keys.js'
import type { WalPosition } from '../keys/replicable.js'
import type { StoreState } from '../state/store-state.js'

export interface Adopted {
  readonly generation: number
  /** Last index of its log; undefined if the generation is empty. */
  readonly lastIndex: number | undefined
  /** Other generations, which stay on disk. */
  readonly others: readonly number[]
  /** Damaged files of the data. Reads of their values fail. */
  readonly damaged: readonly string[]
  /** The index up to which the log was discarded because of unreadable frames; undefined if the log is complete. */
  readonly logGivenUpTo: number | undefined
}

/**
 * Makes a generation of a data directory live. The server must be stopped. Use this if the generation record is lost or
 * the data lost its latest commits. Destroys no generation, now or at the next start. Rejects an empty or damaged
 * generation unless `isForced`, because any client could initialize a server with an empty generation. If the log is
 * damaged, `isForced` discards its frames up to the damage; only lagging secondaries need these frames.
 */
export const adoptGeneration = async (
  path: string,
  generation: number,
  { isForced }: { readonly isForced: boolean },
): Promise<Adopted> => {
  const found = await findGenerations(path)
  if (!found.includes(generation))
    throw invalid(`${generationDirectory(path, generation)} is not a generation of the data`)
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
    // Sealing a rejected generation would make its damage look verified.
    await (isAdopted || !engine.isUnchecked ? engine.close() : engine.discard())
  }
}

/**
 * Moves entries out of the generation if they have the name of a value file but are not regular files. Such entries
 * cannot be sealed.
 */
const putAside = async (path: string, generation: number): Promise<void> => {
  const directory = generationDirectory(path, generation)
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    if (numberOf(entry.name) === undefined || entry.isFile()) continue
    await rename(join(directory, entry.name), `${directory}.aside-${entry.name}`)
  }
}

/** Returns the names of damaged files, except for files that hold frames of the log. */
const findDamagedData = async (engine: LevelEngine): Promise<string[]> => {
  const unreadable = [...(await engine.findUnreadable())]
  const ofLog = new Set(unreadable.flatMap(([key, name]) => (key.startsWith(WAL_PREFIX) ? [name] : [])))
  const names = new Set([...(await engine.findDamage()), ...unreadable.map(([, name]) => name)])
  return [...names].filter((name) => !ofLog.has(name)).sort()
}

/** Returns why adopting the generation requires force, and the resulting loss; undefined if force is not required. */
const describeProblem = (
  generation: number,
  state: StoreState | undefined,
  base: WalPosition | undefined,
  damaged: readonly string[],
): string | undefined => {
  if (!state) return `generation ${generation} is empty: a server that starts on it is not initialized`
  const problems: string[] = []
  if (damaged.length > 0) problems.push(`is damaged in ${damaged.join(', ')}: keys may be missing`)
  if (base) {
    problems.push(
      `has lost a part of its log. Adopting it discards the log up to index ${base.index} of ${state.last.index}. ` +
        'This loses no data, but secondaries behind this index must compare Merkle trees, and a failover cannot list ' +
        'losses before this index',
    )
  }
  return problems.length === 0 ? undefined : `generation ${generation} ${problems.join('; it ')}`
}

/** Throws if a server has the live generation open, because the server would continue to use it. */
const requireStopped = async (path: string, generation: number): Promise<void> => {
  const live = await findLive(path)
  if (live === undefined || live === generation) return
  const options = { directory: generationDirectory(path, live), createIfMissing: false, isDamageTaken: true }
  const engine = await LevelEngine.open(options).catch((error: unknown) => {
    if (error instanceof LogicalError && error.code === 'unavailable') throw error
    return undefined
  })
  await (engine?.isUnchecked ? engine.discard() : engine?.close())
}
