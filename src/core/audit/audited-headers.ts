/** The request headers that audit devices log: one record for all devices. */
import { putJson, readJson, type Storage } from '../../logical/storage.js'
import { KEYS } from '../../storage/key-families.js'

interface AuditedHeader {
  readonly hmac: boolean
}

type HeaderRecord = Readonly<Record<string, AuditedHeader>>

export class AuditedHeaders {
  readonly #storage: Storage
  #kept: ReadonlyMap<string, AuditedHeader> | undefined

  constructor(storage: Storage) {
    this.#storage = storage
  }

  /** By lower-case name. */
  all(): ReadonlyMap<string, AuditedHeader> {
    this.#kept ??= new Map(Object.entries(readJson<HeaderRecord>(this.#storage, KEYS.auditedHeaders) ?? {}))
    return this.#kept
  }

  /** Undefined stops the logging of the header. */
  set(name: string, header: AuditedHeader | undefined): Promise<void> {
    return this.#storage.write((tx) => {
      const { [name.toLowerCase()]: _replaced, ...others } = readJson<HeaderRecord>(tx, KEYS.auditedHeaders) ?? {}
      putJson(tx, KEYS.auditedHeaders, header === undefined ? others : { ...others, [name.toLowerCase()]: header })
    })
  }

  /** The record has changed. */
  forget(): void {
    this.#kept = undefined
  }
}
