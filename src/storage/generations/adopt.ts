import { readdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { invalid, LogicalError } from '../../logical/errors.js'
import { findGenerations, findLive, generationDirectory, writeGenerationRecord } from '../engine/generation-record.js'
import { LevelEngine } from '../engine/level-engine.js'
import { numberOf } from '../engine/value-reference.js'
import { readState } from '../commit/load.js'
import { findBreak, discardLogUpTo } from '../log/give-up.js'
import { WAL_PREFIX } from '../keys/raw-keys.js'
import type { WalPosition } from '../keys/replicable.js'
import type { StoreState } from '../state/store-state.js'

export interface Adopted {
  readonly generation: number
  /** Last index of the generation's log; undefined if the generation is empty. */
  readonly lastIndex: number | undefined
  /** Other generations, which stay on disk. */
  readonly others: readonly number[]
  /** Names of damaged files. Reads of the values in these files fail. */
  readonly damaged: readonly string[]
  /** Last discarded index of the log, if frames were unreadable or missing; undefined if the log is complete. */
  readonly logDiscardedUpTo: number | undefined
}

/**
 * Makes a generation of a data directory live, for example after the generation record or the latest commits were lost.
 * The server must be stopped. No generation is removed, neither now nor at the next start. Unless `isForced` is true,
 * rejects a damaged generation, and an empty one, because any client could initialize its server. If the log is
 * damaged, `isForced` discards the frames up to the damage. Only lagging secondaries need these frames.
 */
export const adoptGeneration = async (
  path: string,
  generation: number,
  { isForced }: { readonly isForced: boolean },
): Promise<Adopted> => {
  const found = await findGenerations(path)
  if (!found.includes(generation))
    throw invalid(
      `generation ${generation} does not exist in ${path}. To list the generations, use "understudy storage list"`,
    )
  await requireStopped(path, generation)
  const directory = generationDirectory(path, generation)
  const engine = await LevelEngine.open({
    directory,
    createIfMissing: false,
    isDamageAccepted: true,
    isSealIgnored: isForced,
  })
  let isAdopted = false
  try {
    const state = readState(engine)
    const base = state && (await findBreak(engine, state))
    const damaged = await findDamagedData(engine)
    const reason = describeProblem(generation, state, base, damaged)
    if (reason !== undefined && !isForced) throw invalid(`${reason}. To adopt it anyway, use --force`)
    if (isForced) await putAside(path, generation)
    const next = state && base ? await discardLogUpTo(engine, state, base) : state
    engine.acknowledge(next && { revision: next.revision, index: next.last.index })
    await engine.settleAcknowledged()
    await writeGenerationRecord(path, { live: generation, condemned: [] })
    isAdopted = true
    const others = found.filter((one) => one !== generation)
    return { generation, lastIndex: next?.last.index, others, damaged, logDiscardedUpTo: base?.index }
  } finally {
    // A rejected generation gets no new seal, because the seal would mark its damaged files as verified.
    await (isAdopted || !engine.isUnchecked ? engine.close() : engine.discard())
  }
}

/** Moves entries out of a generation that have the name of a value file but are not files, and cannot be sealed. */
const putAside = async (path: string, generation: number): Promise<void> => {
  const directory = generationDirectory(path, generation)
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    if (numberOf(entry.name) === undefined || entry.isFile()) continue
    await rename(join(directory, entry.name), `${directory}.aside-${entry.name}`)
  }
}

/** Resolves to the names of damaged files, except files that contain frames of the log. */
const findDamagedData = async (engine: LevelEngine): Promise<string[]> => {
  const unreadable = [...(await engine.findUnreadable())]
  const ofLog = new Set(unreadable.flatMap(([key, name]) => (key.startsWith(WAL_PREFIX) ? [name] : [])))
  const names = new Set([...(await engine.findDamage()), ...unreadable.map(([, name]) => name)])
  return [...names].filter((name) => !ofLog.has(name)).sort()
}

/** Returns the problem because of which the adoption must be forced, with its consequences, or undefined. */
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
      `has a damaged log. The adoption discards the log up to index ${base.index} of ${state.last.index}. ` +
        'This loses no data, but secondaries behind this index must compare Merkle trees, and a failover cannot list ' +
        'losses before this index',
    )
  }
  return problems.length === 0 ? undefined : `generation ${generation} ${problems.join('; it ')}`
}

/** Rejects if a server has the live generation open, because that server would continue to use it. */
const requireStopped = async (path: string, generation: number): Promise<void> => {
  const live = await findLive(path)
  if (live === undefined || live === generation) return
  const options = { directory: generationDirectory(path, live), createIfMissing: false, isDamageAccepted: true }
  const engine = await LevelEngine.open(options).catch((error: unknown) => {
    if (error instanceof LogicalError && error.code === 'unavailable') throw error
    return undefined
  })
  await (engine?.isUnchecked ? engine.discard() : engine?.close())
}
