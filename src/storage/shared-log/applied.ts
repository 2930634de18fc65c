import { LogicalError } from '../../logical/errors.js'
import type { Engine, EngineBatch } from '../engine/engine.js'
import { APPLIED_KEY } from '../keys/raw-keys.js'
import { LOG_START, type RawOperation } from './raw-batch.js'
import type { LogPosition } from './shared-log.js'

/**
 * Resolves to the position of the last log entry that an engine has applied, or to `LOG_START` for an empty engine.
 * Resolves to undefined if the engine has other data or an incomplete copy.
 */
export const findApplied = async (engine: Engine): Promise<LogPosition | undefined> => {
  if (engine.has(APPLIED_KEY)) return readApplied(engine)
  for await (const chunk of engine.scan({}, { limit: 1, values: false })) if (chunk.length > 0) return undefined
  return LOG_START
}

/**
 * Returns the position of the last log entry that a consistent copy has applied, or `LOG_START` if it has none. Throws
 * LogicalError `internal` for a damaged record.
 */
export const readApplied = (engine: Engine): LogPosition => {
  const bytes = engine.get(APPLIED_KEY)
  if (!bytes) return LOG_START
  try {
    const [index, hash] = JSON.parse(bytes.toString('utf8')) as [number, string]
    return { index, hash: Buffer.from(hash, 'hex') }
  } catch (cause) {
    throw new LogicalError('internal', 'cannot read the applied position of the shared log: it is damaged', { cause })
  }
}

/** Adds the new applied position to the batch that applies an entry. */
export const putApplied = (batch: EngineBatch, { index, hash }: LogPosition): void =>
  batch.put(APPLIED_KEY, Buffer.from(JSON.stringify([index, hash.toString('hex')])))

export const putOperations = (batch: EngineBatch, operations: readonly RawOperation[]): void => {
  for (const { key, value } of operations) {
    if (value === undefined) batch.delete(key)
    else batch.put(key, value)
  }
}
