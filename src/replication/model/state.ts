import { type ReadStorage, readJson, type Transaction, putJson } from '../../logical/storage.js'
import { currentEpoch, type EpochChain } from './epoch.js'
import type { Stage } from './machine.js'
import type { Kind, Overtaker } from './types.js'
import { KEYS } from '../../storage/keys/key-families.js'

/**
 * The stored role of a cluster for one kind of replication. The record decides: at every start, services are created
 * from it, and a change of the record, in one durable batch, changes the role. The performance record is a local key,
 * so that DR secondaries receive it and can take over the role. The DR record never leaves the cluster.
 */
export type KindRecord = DisabledRecord | PrimaryRecord | SecondaryRecord

interface DisabledRecord {
  readonly mode: 'disabled'
  /** On a former primary: the ended epochs of its set, including its own last epoch. */
  readonly ended?: EpochChain
}

export interface PrimaryRecord {
  readonly mode: 'primary'
  /** The ID that all members of the replication set show as `cluster_id`. */
  readonly setId: string
  /** The epochs of this set, from the oldest to the current one. */
  readonly epochs: EpochChain
  readonly ca: CaRecord
  /** The address that secondaries receive (default: the configured cluster address); empty for the default. */
  readonly primaryClusterAddr: string
  readonly registrations: readonly Registration[]
  /** Set after a server with a newer epoch of this set was detected. This primary then sends nothing to secondaries. */
  readonly fenced?: Fence
  /** Set after a promotion: the credentials for the former primary, which must be informed of the new epoch. */
  readonly former?: Credentials
}

export interface SecondaryRecord {
  readonly mode: 'bootstrapping' | 'secondary'
  readonly setId: string
  readonly epochs: EpochChain
  /** Empty on a demoted primary that has not joined another primary. */
  readonly secondaryId: string
  /** If undefined, the cluster is detached and has no primary. */
  readonly credentials?: Credentials
  /** True after this cluster has followed a primary in this role. A promotion then requires a complete copy. */
  readonly hasFollowed: boolean
  /** Number of times that this cluster, or the original of this DR copy, replaced another cluster under its ID. */
  readonly incarnation: number
  /** Set while this cluster has data that its primary has lost. It then follows only a primary of a newer epoch. */
  readonly ahead?: Ahead
  /** On a former primary: the primary that has replaced it. */
  readonly overtaker?: Overtaker
  /** The last followed epoch, if it has ended because its primary was demoted. */
  readonly endedEpoch?: string
}

/** Describes the entries that this cluster has applied and its rewound primary has lost. */
export interface Ahead {
  /** The epoch of the primary, and the last index of its log that this cluster has applied. */
  readonly epoch: string
  readonly index: number
  /**
   * The last index that both logs contain, and the last index of the primary's log. Unless `isCommonKnown`, the logs
   * may differ before `commonIndex`.
   */
  readonly commonIndex: number
  readonly isCommonKnown?: boolean
  readonly primaryIndex: number
  readonly sinceMs: number
}

/**
 * A certificate authority. The certificate is DER in base64, and the key is PKCS 8 DER in base64. `name` is the common
 * name, the DNS name and the TLS server name of the set.
 */
export interface CaRecord {
  readonly name: string
  readonly certificate: string
  readonly privateKey: string
}

export interface Registration {
  readonly id: string
  /** Common name of the client certificate, which identifies the registration of a connection. */
  readonly commonName: string
  /** `issued`: the token is unused, and a new token may replace it. `connected`: the bootstrap has succeeded. */
  readonly state: 'issued' | 'connected'
  /** Expiry time of an unused token, in Unix milliseconds. */
  readonly expiresAtMs: number
  /** The ID of the secondary's cluster; empty before its first connection. */
  readonly clusterId: string
  /** The highest known incarnation. A cluster with a lower incarnation has been replaced. */
  readonly incarnation: number
  /** The last known addresses of the secondary and the time of its last message. Shown while it is disconnected. */
  readonly apiAddress: string
  readonly clusterAddress: string
  readonly lastSeenMs: number
}

export interface Fence {
  readonly epoch: string
  readonly byEpoch: string
  readonly sinceMs: number
  /** The last index of this cluster that the newer epoch includes; undefined if it includes none. */
  readonly forkIndex?: number
  readonly by?: Overtaker
}

/** The credentials of a secondary. Certificates are DER in base64, and the key is PKCS 8 DER in base64. */
export interface Credentials {
  readonly caCertificate: string
  readonly certificate: string
  readonly privateKey: string
  /** The name of the primary's CA, which is the TLS server name. */
  readonly serverName: string
  /** Addresses of the primary's cluster ports, best first, as `https://host:port`. */
  readonly primaryAddresses: readonly string[]
  /** Earlier addresses. A node that is missing in the latest list may be the only running node. */
  readonly formerAddresses?: readonly string[]
}

export const DISABLED: DisabledRecord = { mode: 'disabled' }

const PREFIX: Readonly<Record<Kind, string>> = { dr: KEYS.drRole, performance: KEYS.performanceRole }

export const recordKey = (kind: Kind): string => `${PREFIX[kind]}record`

/** Returns the storage key of a generated private key, which is stored until a token for its public key arrives. */
export const exchangeKeyKey = (kind: Kind): string => `${PREFIX[kind]}exchange-key`

export const readRecord = (storage: ReadStorage, kind: Kind): KindRecord =>
  readJson<KindRecord>(storage, recordKey(kind)) ?? DISABLED

export const putRecord = (tx: Transaction, kind: Kind, record: KindRecord): void => {
  if (record.mode === 'disabled' && !record.ended) tx.delete(recordKey(kind))
  else putJson(tx, recordKey(kind), record)
}

/** Encodes a role record for a wiped store. */
export const encodeRecord = (record: KindRecord): Buffer => Buffer.from(JSON.stringify(record))

export const stageOf = (record: KindRecord): Stage => {
  if (record.mode !== 'secondary') return record.mode
  return record.credentials === undefined ? 'detached' : 'secondary'
}

/**
 * Returns true for a secondary that has followed a primary. Returns false for a demoted primary, whose data is not a
 * copy.
 */
export const isCopy = (record: KindRecord): record is SecondaryRecord & { readonly mode: 'secondary' } =>
  record.mode === 'secondary' && record.hasFollowed

/**
 * Returns the epochs of this kind that end when this cluster stops being a primary:
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

/** Returns the IDs for which no new token can be issued, and the number of registrations with another ID than `id`. */
export const registeredIds = (
  record: PrimaryRecord,
  id: string,
): { readonly taken: ReadonlySet<string>; readonly count: number } => ({
  taken: new Set(record.registrations.filter((row) => row.state === 'connected').map((row) => row.id)),
  count: record.registrations.filter((row) => row.id !== id).length,
})
