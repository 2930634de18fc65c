import type { Engine, EngineBatch } from '../engine/engine.js'
import type { EngineSource } from '../engine/engine-source.js'
import { APPLIED_KEY } from '../keys/raw-keys.js'
import { findApplied, putApplied, putOperations } from './applied.js'
import { decodeBatch, LOG_START, positionOf } from './raw-batch.js'
import { ImageNeeded, type Leadership, type LogImage, type LogPosition, type SharedLog } from './shared-log.js'

type Source = Pick<EngineSource, 'engine' | 'replace'>

/** Approximate maximum bytes of one published chunk. */
const CHUNK_BYTES = 1024 * 1024

/**
 * Prepares an engine so that the shared log can bring it up to date. Must be called before a store is opened on the
 * engine. If the log still has all entries after the engine's copy, does nothing and resolves to false. Otherwise,
 * reads the image of the log and resolves to true. If the engine contains other data, reads the image into a new
 * generation. After a crash, the read starts again.
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

/** Replaces all data of the cluster with the content of an engine. The engine is then a copy of the new data. */
export const publishCopy = async (engine: Engine, leadership: Leadership): Promise<void> =>
  markCopy(engine, await leadership.replace(engine.scan({}, { chunkBytes: CHUNK_BYTES })))

const markCopy = (engine: Engine, position: LogPosition): Promise<void> =>
  write(engine, { isDurable: true }, (batch) => putApplied(batch, position))

const write = (engine: Engine, options: { isDurable: boolean }, fill: (batch: EngineBatch) => void): Promise<void> => {
  const batch = engine.batch()
  fill(batch)
  return batch.write(options)
}

const readWhole = async (engine: Engine, log: SharedLog, signal: AbortSignal): Promise<LogPosition> => {
  for (;;) {
    await empty(engine)
    const image = await log.readImage(signal)
    await readChunks(engine, image, signal)
    try {
      return await replay(engine, image, signal)
    } catch (error) {
      // A compaction removed log entries after this image during the read, so a newer image exists.
      if (!(error instanceof ImageNeeded)) throw error
    }
  }
}

/** Deletes all data. Deletes the applied position first, because data without it counts as incomplete. */
const empty = async (engine: Engine): Promise<void> => {
  await write(engine, { isDurable: true }, (batch) => batch.delete(APPLIED_KEY))
  for await (const chunk of engine.scan({}, { values: false })) {
    await write(engine, { isDurable: false }, (batch) => {
      for (const { key } of chunk) batch.delete(key)
    })
  }
}

const readChunks = async (engine: Engine, image: LogImage, signal: AbortSignal): Promise<void> => {
  for await (const chunk of image.chunks()) {
    signal.throwIfAborted()
    await write(engine, { isDurable: false }, (batch) => putOperations(batch, chunk))
  }
}

/** Applies the entries after the image. The image may contain some of them, but it is harmless to apply them twice. */
const replay = async (engine: Engine, image: LogImage, signal: AbortSignal): Promise<LogPosition> => {
  let { position } = image
  for await (const entry of image.rest()) {
    signal.throwIfAborted()
    await write(engine, { isDurable: false }, (batch) => putOperations(batch, decodeBatch(entry)))
    position = positionOf(entry)
  }
  return position
}
