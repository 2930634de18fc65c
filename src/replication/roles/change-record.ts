import { type EpochChain, extendChain, type Fork } from '../model/epoch.js'
import type { RecordChange } from '../model/machine.js'
import { type CaRecord, type Credentials, DISABLED, type KindRecord, type SecondaryRecord } from '../model/state.js'
import type { Kind } from '../model/types.js'

/** The inputs of record changes in addition to the record. They exist before the first change is applied. */
export interface Ingredients {
  newId(): string
  /**
   * ID of all epochs that one role change starts. With equal IDs, both kinds order two sibling epochs in the same way.
   */
  readonly epochId: string
  /** By kind, the epochs that end when this cluster gives up its role. */
  readonly ended?: Readonly<Record<Kind, EpochChain>>
  /**
   * The last applied index of the primary's log, and the last index of the local log. On a former primary, both are the
   * last index of the local log.
   */
  readonly fork: Fork
  readonly ca?: CaRecord
  readonly primaryClusterAddr?: string
  readonly joining?: Pick<SecondaryRecord, 'setId' | 'epochs' | 'secondaryId'> & { readonly credentials: Credentials }
  readonly addresses?: readonly string[]
}

export type Records = Readonly<Record<Kind, KindRecord>>

/** The records that a role change will store, and whether the operation token stays valid. */
export interface Drafts {
  readonly records: Records
  readonly keepsOperationToken: boolean
}

/** Returns the drafts after one record change. Has no side effects except for calls of `newId`. */
export const applyEffect = (drafts: Drafts, effect: RecordChange, given: Ingredients): Drafts => {
  if (effect.do === 'delete-operation-token') return { ...drafts, keepsOperationToken: false }
  const records = { ...drafts.records, [effect.kind]: changeRecord(drafts.records[effect.kind], effect, given) }
  return { ...drafts, records }
}

const changeRecord = (
  record: KindRecord,
  effect: Extract<RecordChange, { kind: Kind }>,
  given: Ingredients,
): KindRecord => {
  switch (effect.do) {
    case 'become-primary':
      return {
        mode: 'primary',
        setId: effect.set === 'kept' && record.mode !== 'disabled' ? record.setId : given.newId(),
        epochs:
          effect.set === 'kept' && record.mode !== 'disabled'
            ? record.epochs
            : extendChain([], given.epochId, { forkIndex: 0 }),
        ca: needed(given.ca),
        primaryClusterAddr: given.primaryClusterAddr ?? '',
        registrations: [],
        ...('credentials' in record && record.credentials && { former: record.credentials }),
      }
    case 'start-epoch': {
      if (record.mode === 'disabled') throw new Error('a cluster without a replication set cannot start an epoch')
      const epochs = extendChain(record.epochs, given.epochId, given.fork)
      if (record.mode !== 'primary') return { ...record, epochs }
      const { fenced: _, ...free } = record
      return { ...free, epochs }
    }
    case 'take-place':
      return record.mode === 'secondary' ? { ...record, incarnation: record.incarnation + 1 } : record
    case 'become-detached':
      return detach(record)
    case 'become-disabled': {
      const ended = given.ended?.[effect.kind] ?? []
      return ended.length === 0 ? DISABLED : { ...DISABLED, ended }
    }
    case 'take-credentials':
      return { ...needed(given.joining), mode: effect.mode, hasFollowed: true, incarnation: 0 }
    case 'become-secondary':
      return record.mode === 'bootstrapping' ? { ...record, mode: 'secondary' } : record
    case 'take-addresses':
      if (record.mode === 'disabled' || record.mode === 'primary' || !record.credentials) return record
      return { ...record, credentials: { ...record.credentials, primaryAddresses: needed(given.addresses) } }
  }
}

const detach = (record: KindRecord): KindRecord => {
  switch (record.mode) {
    case 'disabled':
      return record
    case 'primary':
      return {
        mode: 'secondary',
        setId: record.setId,
        epochs: record.epochs,
        secondaryId: '',
        hasFollowed: false,
        incarnation: 0,
        ...(record.fenced?.by && { overtaker: record.fenced.by }),
      }
    default: {
      const { credentials: _, ...rest } = record
      return rest
    }
  }
}

const needed = <T>(value: T | undefined): T => {
  if (value === undefined) throw new Error('a role change lacks a required input')
  return value
}
