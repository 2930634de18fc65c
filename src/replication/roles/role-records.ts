import { isDeepStrictEqual } from 'node:util'
import { KeyedLock } from '../../base/keyed-lock.js'
import { CLOSED_REFUSAL, LogicalError, RESTARTING_REFUSAL } from '../../logical/errors.js'
import { applyEffect, type Drafts, type Ingredients, type Records } from './change-record.js'
import type { FreshStart, KeyMaterial, PlainRecord, ReplicationHost } from '../host/host.js'
import type { Acceptance, Facts, Refusal } from '../model/machine.js'
import { deleteOperationToken } from '../model/operation-token.js'
import {
  encodeRecord,
  type KindRecord,
  type PrimaryRecord,
  putRecord,
  readRecord,
  recordKey,
  stageOf,
} from '../model/state.js'
import type { Kind } from '../model/types.js'

export const KINDS = ['dr', 'performance'] as const satisfies readonly Kind[]

/** The root key and keyring of a wiped store, and its other initial records as plain values. */
export interface WipeMaterial extends KeyMaterial {
  readonly extraRecords: readonly PlainRecord[]
}

/**
 * Holds the role records of both kinds in memory. Only this class changes them. Role changes run one after another. A
 * change is stored first, and then adopted in memory. Updates within a role always start from the latest record.
 */
export class RoleRecords {
  readonly #host: Pick<ReplicationHost, 'storage' | 'commit' | 'restart' | 'wipeAndRestart' | 'log'>
  readonly #lock = new KeyedLock()
  #records: Records
  #isLeaving = false
  #hasEnded = false
  #committing: Promise<void> = Promise.resolve()

  constructor(host: Pick<ReplicationHost, 'storage' | 'commit' | 'restart' | 'wipeAndRestart' | 'log'>) {
    this.#host = host
    this.#records = readRecords(host.storage)
  }

  record(kind: Kind): KindRecord {
    return this.#records[kind]
  }

  get records(): Records {
    return this.#records
  }

  /** True from a role change until the runtime has ended. */
  get isLeaving(): boolean {
    return this.#isLeaving
  }

  facts(): Facts {
    return { stages: { dr: stageOf(this.#records.dr), performance: stageOf(this.#records.performance) } }
  }

  /**
   * Rejects further changes, even of pending operations, because another instance may open the stored data. Resolves
   * when pending commits are stored or have failed.
   */
  async end(): Promise<void> {
    this.#hasEnded = true
    await this.#committing.catch(() => undefined)
  }

  /** Runs `fn` while no other role change runs, so that the facts do not change meanwhile. Rejects during a restart. */
  exclusively<T>(fn: () => Promise<T>): Promise<T> {
    return this.#lock.run('role', async () => {
      if (this.#isLeaving) throw new LogicalError('unavailable', RESTARTING_REFUSAL)
      this.#requireOpen()
      return fn()
    })
  }

  /** Applies an accepted change to the records and stores them. Must run within `exclusively`. */
  async change({ change, end }: Acceptance, given: Ingredients, material?: WipeMaterial): Promise<void> {
    await this.#lock.run('record', async () => {
      this.#requireOpen()
      const before: Drafts = { records: this.#records, keepsOperationToken: true }
      const drafts = change.reduce((draft, effect) => applyEffect(draft, effect, given), before)
      switch (end) {
        case 'commit':
          return this.#commit(drafts)
        case 'commit-and-restart':
          await this.#commit(drafts)
          this.#isLeaving = true
          return this.#host.restart('replication role changed')
        case 'wipe-and-restart':
          return this.#wipe(drafts.records, material)
      }
    })
  }

  async #wipe(drafts: Records, material: WipeMaterial | undefined): Promise<void> {
    if (!material) throw new Error('a wipe requires the keys of the new data')
    this.#isLeaving = true
    const records = KINDS.filter((kind) => drafts[kind].mode !== 'disabled').map((kind) => ({
      key: recordKey(kind),
      value: encodeRecord(drafts[kind]),
    }))
    const { extraRecords, ...keyMaterial } = material
    await this.#host.wipeAndRestart({
      keyMaterial,
      records: [...records, ...extraRecords],
      joining: joiningOf(drafts),
    })
    this.#adopt(drafts)
  }

  /**
   * Changes a record within a role, for example a registration. `change` receives the latest record, and may return it
   * unchanged.
   */
  update(kind: Kind, change: (record: KindRecord) => KindRecord): Promise<void> {
    return this.updateAll([kind], change)
  }

  /** Changes the record of a primary like `update`. Does nothing if the role is no longer primary. */
  updatePrimary(kind: Kind, change: (record: PrimaryRecord) => PrimaryRecord): Promise<void> {
    return this.update(kind, (record) => (record.mode === 'primary' ? change(record) : record))
  }

  /** Changes several records in one batch. */
  async updateAll(kinds: readonly Kind[], change: (record: KindRecord) => KindRecord): Promise<void> {
    await this.#lock.run('record', async () => {
      this.#requireOpen()
      const before = this.#records
      const records = { ...before, ...Object.fromEntries(kinds.map((kind) => [kind, change(before[kind])])) }
      if (kinds.some((kind) => records[kind] !== before[kind]))
        await this.#commit({ records, keepsOperationToken: true })
    })
  }

  /** Reloads the performance record of a DR copy, because replication changed the stored record. */
  reload(): void {
    this.#records = { ...this.#records, performance: readRecord(this.#host.storage, 'performance') }
  }

  /** Reloads the records, because the active node changed the stored records. */
  follow(): void {
    this.#adopt(readRecords(this.#host.storage))
  }

  /**
   * Reloads the records after a failed batch was stored after all. If a role or the registrations changed, restarts the
   * runtime.
   */
  recover(): void {
    const before = this.#records
    this.#adopt(readRecords(this.#host.storage))
    const isOther = (kind: Kind) => !isDeepStrictEqual(standingOf(this.#records[kind]), standingOf(before[kind]))
    if (KINDS.some(isOther)) this.restartAfterRecovery()
  }

  /** Restarts the runtime, so that it creates its services from the stored records again. */
  restartAfterRecovery(): void {
    if (this.#isLeaving) return
    this.#isLeaving = true
    this.#host.restart('a change that had failed was stored after all')
  }

  async #commit({ records, keepsOperationToken }: Drafts): Promise<void> {
    const changed = KINDS.filter((kind) => records[kind] !== this.#records[kind])
    this.#committing = this.#host.commit((tx) => {
      for (const kind of changed) putRecord(tx, kind, records[kind])
      if (!keepsOperationToken) deleteOperationToken(tx)
    })
    await this.#committing
    this.#adopt(records)
  }

  #requireOpen(): void {
    if (this.#hasEnded) throw new LogicalError('unavailable', CLOSED_REFUSAL)
  }

  #adopt(next: Records): void {
    for (const kind of KINDS) {
      const from = stageOf(this.#records[kind])
      const to = stageOf(next[kind])
      if (from !== to) this.#host.log.info('replication role changed', { kind, from, to })
    }
    this.#records = next
  }
}

/** Returns the parts of a record whose change requires a restart: the stage and the registrations. */
const standingOf = (record: KindRecord) => [
  stageOf(record),
  record.mode === 'primary' ? record.registrations : undefined,
]

const readRecords = (storage: ReplicationHost['storage']): Records => ({
  dr: readRecord(storage, 'dr'),
  performance: readRecord(storage, 'performance'),
})

/** Returns the kind that the wiped cluster joins, and its set. */
const joiningOf = (records: Records): FreshStart['joining'] => {
  for (const kind of KINDS) {
    const record = records[kind]
    if (record.mode === 'bootstrapping') return { kind, setId: record.setId }
  }
  throw new Error('only a cluster that joins a replication set can be wiped')
}

/** Returns an accepted check or decision. Throws `LogicalError` for a refusal. */
export const orThrow = <Accepted extends { readonly ok: true }>(check: Accepted | Refusal): Accepted => {
  if (check.ok) return check
  throw new LogicalError(check.code, check.reason)
}
