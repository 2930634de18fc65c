import type { Engine } from '../engine/engine.js'
import type { EngineSource } from '../engine/engine-source.js'
import { APPLIED_KEY } from '../keys/raw-keys.js'
import { findApplied, putApplied, putOperations } from './applied.js'
import { decodeBatch, LOG_START, positionOf } from './raw-batch.js'
import { ImageNeeded, type Leadership, type LogImage, type LogPosition, type SharedLog } from './shared-log.js'

type Source = Pick<EngineSource, 'engine' | 'replace'>

/** Read at once of what is published. */
const CHUNK_BYTES = 1024 * 1024

/**
 * Makes a source hold a copy of the cluster's data that can be brought up to date from the log, before a store is opened on it:
 * nothing is done where it does, however old that is. Otherwise the image is read, into another generation where there is anything
 * that gives way to it. A crash leaves what is begun anew. Resolves to true when the image was read.
 */
export const prepareCopy = async (source: Source, log: SharedLog, signal: AbortSignal): Promise<boolean> => {
  const { engine } = source
  const applied = await findApplied(engine)
  if (applied && (await log.reaches(applied, signal))) return false
  await log.forgetReplaced(signal)
  if (applied?.index === LOG_START.index) await readCopy(engine, log, signal)
  else await source.replace((fresh) => readCopy(fresh, log, signal))
  return true
}

const readCopy = async (engine: Engine, log: SharedLog, signal: AbortSignal): Promise<void> =>
  markCopy(engine, await readWhole(engine, log, signal))

/** Makes the content of an engine the data of the cluster, in place of all that was, and the engine the first copy of it. */
export const publishCopy = async (engine: Engine, leadership: Leadership): Promise<void> =>
  markCopy(engine, await leadership.replace(engine.scan({}, { chunkBytes: CHUNK_BYTES })))

const markCopy = async (engine: Engine, position: LogPosition): Promise<void> => {
  const batch = engine.batch()
  putApplied(batch, position)
  await batch.write({ isDurable: true })
}

const readWhole = async (engine: Engine, log: SharedLog, signal: AbortSignal): Promise<LogPosition> => {
  for (;;) {
    await empty(engine)
    const image = await log.readImage(signal)
    await readChunks(engine, image, signal)
    try {
      return await replay(engine, image, signal)
    } catch (error) {
      // It took so long that what was then is forgotten: there is a newer one.
      if (!(error instanceof ImageNeeded)) throw error
    }
  }
}

/** What says how much is applied goes first: without it the rest counts for nothing. */
const empty = async (engine: Engine): Promise<void> => {
  const first = engine.batch()
  first.delete(APPLIED_KEY)
  await first.write({ isDurable: true })
  for await (const chunk of engine.scan({}, { values: false })) {
    const batch = engine.batch()
    for (const { key } of chunk) batch.delete(key)
    await batch.write({ isDurable: false })
  }
}

const readChunks = async (engine: Engine, image: LogImage, signal: AbortSignal): Promise<void> => {
  for await (const chunk of image.chunks()) {
    signal.throwIfAborted()
    const batch = engine.batch()
    putOperations(batch, chunk)
    await batch.write({ isDurable: false })
  }
}

/** Entries that are in the image in part, and bring about nothing new where they are in it. */
const replay = async (engine: Engine, image: LogImage, signal: AbortSignal): Promise<LogPosition> => {
  let { position } = image
  for await (const entry of image.rest()) {
    signal.throwIfAborted()
    const batch = engine.batch()
    putOperations(batch, decodeBatch(entry))
    await batch.write({ isDurable: false })
    position = positionOf(entry)
  }
  return position
}
