import type { JsonObject } from '../../base/json.js'
import { textOfJson } from '../../base/json-print.js'
import type { ApiClient } from '../../client/api-client.js'
import { LabError } from '../model/lab-error.js'
import { describeEntries } from './losses.js'
import { countOf, isPlaced, type ReplicationStatus } from './replication-status.js'

/** The end of a DR primary's log, as the lab recorded it when a command took the primary down. */
export interface LastPosition {
  /** The ID of the replication set. */
  readonly set: string
  /** The epoch of the log. A later primary of the set has another one. */
  readonly epoch: string
  /** Index of its last log entry. */
  readonly lastWal: number
  /** Whether the primary acknowledged nothing later. True only after an orderly stop. */
  readonly isFinal: boolean
}

interface LossFacts {
  readonly secondary: ReplicationStatus
  /** The epoch of the log that the secondary has applied. Empty if unknown. */
  readonly epoch: string
  /** The last position that the primary announced to the secondary. 0 if unknown. */
  readonly announced: number
  /** The last position of the primary. Undefined if no command of the lab took the primary down. */
  readonly last: LastPosition | undefined
  readonly nowMs: number
}

/** The log entries that a failover to a DR secondary would lose. */
export interface ExpectedLoss {
  /** Number of log entries that the secondary is known to lack. */
  readonly entries: number
  /** False if the primary may have acknowledged further entries, because replication is asynchronous. */
  readonly isExact: boolean
  /** Seconds since the last message of the primary. Null if the secondary has received none since its start. */
  readonly silentSeconds: number | null
}

export const expectedLoss = ({ secondary, epoch, announced, last, nowMs }: LossFacts): ExpectedLoss => {
  const { lastWal, clusterId, lastHeartbeat } = secondary
  const hasPosition = isPlaced(secondary)
  const known = last?.set === clusterId && last.epoch === epoch ? last : undefined
  return {
    entries: hasPosition ? Math.max(0, announced - lastWal, (known?.lastWal ?? 0) - lastWal) : 0,
    isExact: hasPosition && known?.isFinal === true,
    silentSeconds: lastHeartbeat === '' ? null : Math.max(0, Math.round((nowMs - Date.parse(lastHeartbeat)) / 1000)),
  }
}

/** Whether a failover certainly loses nothing. */
export const isLevel = ({ entries, isExact }: ExpectedLoss): boolean => isExact && entries === 0

/** Returns for example `loses at least 12 log entries`, or `may lose an unknown number of log entries`. */
export const describeLoss = ({ entries, isExact }: ExpectedLoss): string => {
  if (!isExact && entries === 0) return 'may lose an unknown number of log entries'
  return `loses ${isExact ? '' : 'at least '}${describeEntries(entries)}`
}

/** Maximum number of log entries that an operator accepts to lose. `any` includes an unknown number. */
export type AcceptedLoss = number | 'any'

export const isAccepted = ({ entries, isExact }: ExpectedLoss, accepted: AcceptedLoss): boolean =>
  accepted === 'any' || (isExact && entries <= accepted)

/** Parses a number or its text. Throws a usage error for any other value. */
export const parseAcceptedLoss = (value: unknown): AcceptedLoss => {
  if (value === 'any') return value
  const entries = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value
  if (typeof entries === 'number' && Number.isSafeInteger(entries) && entries >= 0) return entries
  throw new LabError('usage', `the accepted loss must be a number of log entries or "any", not ${String(value)}`)
}

/**
 * Returns the loss of a failover to a secondary. Asks the secondary for the epoch and the last position of its primary.
 */
export const askExpectedLoss = async (
  client: ApiClient,
  facts: Omit<LossFacts, 'announced' | 'epoch'>,
): Promise<ExpectedLoss> => {
  const info = await askInfo(client).catch((): JsonObject => ({}))
  return expectedLoss({ ...facts, epoch: textOfJson(info.primary_epoch), announced: countOf(info.announced_wal) })
}

/** Returns what a server reports about its storage and its nodes. */
export const askInfo = async (client: ApiClient): Promise<JsonObject> =>
  (await client.call('GET', '/_understudy/v1/info')) as JsonObject

/**
 * Returns true if a secondary has last applied entries of the last epoch of a former primary, by the `info` of both.
 * The former primary then has all data of the secondary, and its promotion takes its demotion back.
 */
export const isInLastEpochOf = (secondary: JsonObject, former: JsonObject): boolean =>
  textOfJson(secondary.primary_epoch) !== '' && secondary.primary_epoch === former.epoch
