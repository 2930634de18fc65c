/** The request headers that audit devices log: one record for all devices. */
import { putJson, readJson, type Storage } from '../logical/storage.js'

export const HEADERS_KEY = 'audited-headers'

export interface AuditedHeader {
  readonly hmac: boolean
}

type HeaderRecord = Readonly<Record<string, AuditedHeader>>

export class AuditedHeaders {
  readonly #storage: Storage
  #kept: ReadonlyMap<string, AuditedHeader> | undefined

  /** `storage` is the view of `core/`. */
  constructor(storage: Storage) {
    this.#storage = storage
  }

  /** By lower-case name. */
  all(): ReadonlyMap<string, AuditedHeader> {
    this.#kept ??= new Map(Object.entries(readJson<HeaderRecord>(this.#storage, HEADERS_KEY) ?? {}))
    return this.#kept
  }

  /** Undefined stops the logging of the header. */
  async set(name: string, header: AuditedHeader | undefined): Promise<void> {
    try {
      await this.#storage.write((tx) => {
        const { [name.toLowerCase()]: _replaced, ...others } = readJson<HeaderRecord>(tx, HEADERS_KEY) ?? {}
        putJson(tx, HEADERS_KEY, header === undefined ? others : { ...others, [name.toLowerCase()]: header })
      })
    } finally {
      this.forget()
    }
  }

  forget(): void {
    this.#kept = undefined
  }
}
