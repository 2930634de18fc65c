import { type ReadStorage, readJson, type Transaction, putJson } from '../../logical/storage.js'
import { currentEpoch, type EpochChain } from './epoch.js'
import type { Stage } from './machine.js'
import type { Kind, Overtaker } from './types.js'
import { KEYS } from '../../storage/keys/key-families.js'

/**
 * The stored role of a cluster, one record per kind. The record is the truth: services are derived from it at
 * every start, and a role changes when the record does, in one durable batch. The performance record lies under a local
 * prefix, so that DR copies have it and can take the role over; the DR record never leaves the cluster.
 */
export type KindRecord = DisabledRecord | PrimaryRecord | SecondaryRecord

interface DisabledRecord {
  readonly mode: 'disabled'
  /** On a former primary: the epochs of its set, its own last, which have no primary any more. */
  readonly ended?: EpochChain
}

export interface PrimaryRecord {
  readonly mode: 'primary'
  /** The id that all members of the replication set show as `cluster_id`. */
  readonly setId: string
  /** The epochs this set went through, ours last. */
  readonly epochs: EpochChain
  readonly ca: CaRecord
  /** The address that secondaries are told instead of the configured cluster address; empty when not overridden. */
  readonly primaryClusterAddr: string
  readonly registrations: readonly Registration[]
  /** Set when a server with a newer epoch of this set was met: from then on nothing is shipped to its followers. */
  readonly fenced?: Fence
  /** After a promotion: how the former primary is reached, which is to be told of the new epoch. */
  readonly former?: Credentials
}

export interface SecondaryRecord {
  readonly mode: 'bootstrapping' | 'secondary'
  readonly setId: string
  readonly epochs: EpochChain
  /** Empty on a demoted primary that has not joined anybody. */
  readonly secondaryId: string
  /** Without them the cluster is detached: it follows nobody. */
  readonly credentials?: Credentials
  /** True once it followed a primary in this role; then only a complete copy may be promoted. */
  readonly hasFollowed: boolean
  /** How often this cluster, or what it is a copy of, took over the secondary id from a DR original. */
  readonly incarnation: number
  /** Set while this cluster has what its primary has lost: then it follows nobody until an operator says so. */
  readonly ahead?: Ahead
  /** On a former primary: who had overtaken it. */
  readonly overtaker?: Overtaker
  /** The epoch that was followed last and has no primary any more: that one stepped back for good. */
  readonly endedEpoch?: string
}

/** The part of the log that a primary that was put back in time does not have any more. */
export interface Ahead {
  /** The primary's epoch, and the last index of its log that is applied here. */
  readonly epoch: string
  readonly index: number
  /** The last index that both have, as far as that is known, and the end of the primary's log. */
  readonly commonIndex: number
  readonly primaryIndex: number
  readonly sinceMs: number
}

/** Base64: certificate DER, key PKCS 8 DER. `name` is common name, DNS name, and the TLS server name of the set. */
export interface CaRecord {
  readonly name: string
  readonly certificate: string
  readonly privateKey: string
}

export interface Registration {
  readonly id: string
  /** Of the client certificate; how a connection is known to belong to this registration. */
  readonly commonName: string
  /** `issued`: its token is unused, and the id may be given again. `connected`: its bootstrap succeeded once. */
  readonly state: 'issued' | 'connected'
  /** An unused token is good until then. Milliseconds since the epoch. */
  readonly expiresAtMs: number
  /** The cluster's own id, known once it has connected. */
  readonly clusterId: string
  /** The highest one seen: whoever comes with a lower one was replaced. */
  readonly incarnation: number
  /** Where it was reached last and when that was learnt, shown while it is away. */
  readonly apiAddress: string
  readonly clusterAddress: string
  readonly lastSeenMs: number
}

export interface Fence {
  readonly epoch: string
  readonly byEpoch: string
  readonly sinceMs: number
  /** Last own index that the newer epoch builds on; undefined when it builds on nothing of ours. */
  readonly forkIndex?: number
  readonly by?: Overtaker
}

/** Base64: certificates DER, key PKCS 8 DER. */
export interface Credentials {
  readonly caCertificate: string
  readonly certificate: string
  readonly privateKey: string
  /** The name of the primary's CA, asked for as TLS server name. */
  readonly serverName: string
  /** Where the primary is looked for, best first, as `https://host:port`. */
  readonly primaryAddresses: readonly string[]
  /** Where it was looked for before: a node of it that was away for a while may be the only one left. */
  readonly formerAddresses?: readonly string[]
}

export const DISABLED: DisabledRecord = { mode: 'disabled' }

const PREFIX: Readonly<Record<Kind, string>> = { dr: KEYS.drRole, performance: KEYS.performanceRole }

export const recordKey = (kind: Kind): string => `${PREFIX[kind]}record`

/** Where the private half of a generated public key waits for its token. */
export const exchangeKeyKey = (kind: Kind): string => `${PREFIX[kind]}exchange-key`

export const readRecord = (storage: ReadStorage, kind: Kind): KindRecord =>
  readJson<KindRecord>(storage, recordKey(kind)) ?? DISABLED

export const putRecord = (tx: Transaction, kind: Kind, record: KindRecord): void => {
  if (record.mode === 'disabled' && !record.ended) tx.delete(recordKey(kind))
  else putJson(tx, recordKey(kind), record)
}

/** The record as it is handed to a wiped storage. */
export const encodeRecord = (record: KindRecord): Buffer => Buffer.from(JSON.stringify(record))

export const stageOf = (record: KindRecord): Stage => {
  if (record.mode !== 'secondary') return record.mode
  return record.credentials === undefined ? 'detached' : 'secondary'
}

/** A secondary that has followed a primary in this role. A demoted primary has not: what it holds is its own. */
export const isCopy = (record: KindRecord): record is SecondaryRecord & { readonly mode: 'secondary' } =>
  record.mode === 'secondary' && record.hasFollowed

/**
 * The epochs of a kind that have no primary any more as soon as this cluster is none: its own ones, also after it has given
 * them up, and the last one that it followed where that has ended. A DR copy has the performance epochs of its primary, which
 * are not its own.
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

export const epochIdOf = (record: KindRecord): string =>
  record.mode === 'disabled' ? '' : (currentEpoch(record.epochs)?.id ?? '')

/** Ids that no new token may be issued for, and how many registrations there are besides `id`. */
export const registeredIds = (
  record: PrimaryRecord,
  id: string,
): { readonly taken: ReadonlySet<string>; readonly count: number } => ({
  taken: new Set(record.registrations.filter((row) => row.state === 'connected').map((row) => row.id)),
  count: record.registrations.filter((row) => row.id !== id).length,
})
