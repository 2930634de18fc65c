import { type ReadStorage, readJson, type Transaction, putJson } from '../../logical/storage.js'
import { currentEpoch, type EpochChain } from './epoch.js'
import type { Stage } from './machine.js'
import type { Kind, Overtaker } from './types.js'
import { KEYS } from '../../storage/keys/key-families.js'

/**
 * The stored role of a cluster, one record per kind. The record is authoritative: services are derived from it at every
 * start, and a role changes when the record does, in one durable batch. The performance record has a local prefix, so
 * that DR copies receive it and can take over the role. The DR record never leaves the cluster.
 */
export type KindRecord = DisabledRecord | PrimaryRecord | SecondaryRecord

interface DisabledRecord {
  readonly mode: 'disabled'
  /** On a former primary: the ended epochs of its set, including its own last one. */
  readonly ended?: EpochChain
}

export interface PrimaryRecord {
  readonly mode: 'primary'
  /** The ID that all members of the replication set show as `cluster_id`. */
  readonly setId: string
  /** The epochs of this set, the current one last. */
  readonly epochs: EpochChain
  readonly ca: CaRecord
  /** The address sent to secondaries instead of the configured cluster address; empty if not overridden. */
  readonly primaryClusterAddr: string
  readonly registrations: readonly Registration[]
  /** Set when a server with a newer epoch of this set was detected. From then on, nothing is sent to secondaries. */
  readonly fenced?: Fence
  /** After a promotion: the credentials to reach the former primary, which must be informed of the new epoch. */
  readonly former?: Credentials
}

export interface SecondaryRecord {
  readonly mode: 'bootstrapping' | 'secondary'
  readonly setId: string
  readonly epochs: EpochChain
  /** Empty on a demoted primary that has not joined another cluster. */
  readonly secondaryId: string
  /** Without credentials, the cluster is detached and has no primary. */
  readonly credentials?: Credentials
  /**
   * True once this cluster has followed a primary in this role. From then on, it can be promoted only if its copy is
   * complete.
   */
  readonly hasFollowed: boolean
  /**
   * Number of times that this cluster, or the original of this DR copy, took over the secondary ID from another
   * cluster.
   */
  readonly incarnation: number
  /** Set while this cluster has data that its primary lost. It then has no primary until an operator decides. */
  readonly ahead?: Ahead
  /** On a former primary: the cluster that overtook it. */
  readonly overtaker?: Overtaker
  /** The epoch that was followed last, if it has ended because its primary was demoted. */
  readonly endedEpoch?: string
}

/** The part of the log that a rewound primary no longer has. */
export interface Ahead {
  /** The primary's epoch, and the last index of its log that is applied here. */
  readonly epoch: string
  readonly index: number
  /** The last index that both logs are known to have in common, and the end of the primary's log. */
  readonly commonIndex: number
  readonly primaryIndex: number
  readonly sinceMs: number
}

/**
 * A certificate authority. The certificate is base64 of DER, and the key is base64 of PKCS 8 DER. `name` is its common
 * name, its DNS name and the TLS server name of the set.
 */
export interface CaRecord {
  readonly name: string
  readonly certificate: string
  readonly privateKey: string
}

export interface Registration {
  readonly id: string
  /** Common name of the client certificate, which maps a connection to this registration. */
  readonly commonName: string
  /** `issued`: the token is unused, and the ID may be issued again. `connected`: its bootstrap has succeeded. */
  readonly state: 'issued' | 'connected'
  /** Expiry of an unused token, in milliseconds since the epoch. */
  readonly expiresAtMs: number
  /** The cluster's own ID, known after its first connection. */
  readonly clusterId: string
  /** The highest known incarnation. A cluster with a lower incarnation was replaced. */
  readonly incarnation: number
  /** The last known address and its time, shown while the secondary is disconnected. */
  readonly apiAddress: string
  readonly clusterAddress: string
  readonly lastSeenMs: number
}

export interface Fence {
  readonly epoch: string
  readonly byEpoch: string
  readonly sinceMs: number
  /** The last local index that the newer epoch includes; undefined if it includes no entry of this cluster. */
  readonly forkIndex?: number
  readonly by?: Overtaker
}

/** Certificates are base64 of DER, and the key is base64 of PKCS 8 DER. */
export interface Credentials {
  readonly caCertificate: string
  readonly certificate: string
  readonly privateKey: string
  /** The name of the primary's CA, used as TLS server name. */
  readonly serverName: string
  /** Addresses of the primary, best first, as `https://host:port`. */
  readonly primaryAddresses: readonly string[]
  /** Earlier addresses. A node that is missing from the latest list may be the only one that still runs. */
  readonly formerAddresses?: readonly string[]
}

export const DISABLED: DisabledRecord = { mode: 'disabled' }

const PREFIX: Readonly<Record<Kind, string>> = { dr: KEYS.drRole, performance: KEYS.performanceRole }

export const recordKey = (kind: Kind): string => `${PREFIX[kind]}record`

/**
 * Returns the storage key of a generated private key. The private key is stored until the activation token for its
 * public key arrives.
 */
export const exchangeKeyKey = (kind: Kind): string => `${PREFIX[kind]}exchange-key`

export const readRecord = (storage: ReadStorage, kind: Kind): KindRecord =>
  readJson<KindRecord>(storage, recordKey(kind)) ?? DISABLED

export const putRecord = (tx: Transaction, kind: Kind, record: KindRecord): void => {
  if (record.mode === 'disabled' && !record.ended) tx.delete(recordKey(kind))
  else putJson(tx, recordKey(kind), record)
}

/** Encodes the record for a wiped store. */
export const encodeRecord = (record: KindRecord): Buffer => Buffer.from(JSON.stringify(record))

export const stageOf = (record: KindRecord): Stage => {
  if (record.mode !== 'secondary') return record.mode
  return record.credentials === undefined ? 'detached' : 'secondary'
}

/**
 * Returns true for a secondary that has followed a primary in this role. Returns false for a demoted primary, whose
 * data is not a copy.
 */
export const isCopy = (record: KindRecord): record is SecondaryRecord & { readonly mode: 'secondary' } =>
  record.mode === 'secondary' && record.hasFollowed

/**
 * Returns the epochs of a kind that end when this cluster stops being primary:
 * - primary: all epochs of its record; none on a DR copy, which has the performance epochs of its primary
 * - former primary: the ended epochs of its record, or all epochs if it is a secondary that has followed no primary
 * - other secondary: the last followed epoch, if it has ended
 */
export const ownEpochsOf = ({ dr, performance }: Readonly<Record<Kind, KindRecord>>, kind: Kind): EpochChain => {
  const record = kind === 'dr' ? dr : performance
  if (record.mode === 'disabled') return record.ended ?? []
  if (record.mode === 'primary') {
    const isCopied = kind === 'performance' && 'hasFollowed' in dr && dr.hasFollowed
    return isCopied ? [] : record.epochs
  }
  return record.hasFollowed ? record.epochs.filter(({ id }) => id === record.endedEpoch) : record.epochs
}

export const setIdOf = (record: KindRecord): string | undefined =>
  record.mode === 'disabled' ? undefined : record.setId

export const aheadOf = (record: KindRecord): Ahead | undefined => ('ahead' in record ? record.ahead : undefined)

export const epochIdOf = (record: KindRecord): string =>
  record.mode === 'disabled' ? '' : (currentEpoch(record.epochs)?.id ?? '')

/** Returns the IDs for which no new token can be issued, and the number of registrations besides `id`. */
export const registeredIds = (
  record: PrimaryRecord,
  id: string,
): { readonly taken: ReadonlySet<string>; readonly count: number } => ({
  taken: new Set(record.registrations.filter((row) => row.state === 'connected').map((row) => row.id)),
  count: record.registrations.filter((row) => row.id !== id).length,
})
