/** Records with an ID and an optional name: the issuers or the keys of a mount. One of them can be the default. */
import { isGenericName } from '../../base/id.js'
import { invalid, LogicalError } from '../../logical/errors.js'
import { putRecord, readRecord, type Storage, type Transaction } from '../../logical/storage.js'

interface Named {
  readonly id: string
  /** Empty if the record has no name. */
  readonly name: string
}

export interface DefaultConfig {
  /** The ID of the default record; empty if there is no default. */
  readonly default: string
}

export const DEFAULT_REFERENCE = 'default'

export class NamedRecords<T extends Named, C extends DefaultConfig = DefaultConfig> {
  readonly #storage: Storage
  /** Part of the storage keys and of the error texts. */
  readonly #kind: 'issuer' | 'key'
  readonly #emptyConfig: C

  constructor(storage: Storage, kind: 'issuer' | 'key', emptyConfig: C) {
    this.#storage = storage
    this.#kind = kind
    this.#emptyConfig = emptyConfig
  }

  /** Returns all records, sorted by ID. */
  async all(): Promise<readonly T[]> {
    const keys = await this.#storage.keys(this.#keyOf(''))
    return keys.flatMap((key) => readRecord<T>(this.#storage, key) ?? [])
  }

  findById(id: string): T | undefined {
    return readRecord<T>(this.#storage, this.#keyOf(id))
  }

  /** Finds a record by `default`, ID or name. */
  async find(reference: string): Promise<T | undefined> {
    const wanted = reference === DEFAULT_REFERENCE ? this.config().default : reference
    if (wanted === '') return undefined
    return this.findById(wanted) ?? (await this.all()).find(({ name }) => name === wanted)
  }

  /**
   * Returns a record by `default`, ID or name. Rejects with LogicalError 500 if there is none, as Vault does: clients
   * depend on the code and on the text, which can have a beginning.
   */
  async require(reference: string, beginning = ''): Promise<T> {
    const found = await this.find(reference)
    if (found) return found
    throw new LogicalError('internal', beginning + this.#missingText(reference), { wrapped: true })
  }

  /** Returns a record by `default`, ID or name. Rejects with LogicalError 400 and a beginning if there is none. */
  async requireNamed(reference: string, beginning: string): Promise<T> {
    const found = await this.find(reference)
    if (!found) throw invalid(beginning + this.#missingText(reference))
    return found
  }

  #missingText(reference: string): string {
    if (reference === DEFAULT_REFERENCE) return `no default ${this.#kind} currently configured`
    return `unable to find PKI ${this.#kind} for reference: ${reference}`
  }

  /** Rejects with LogicalError 400 if the name is invalid, or if a record with another ID has it. */
  async checkName(name: string, ownId = ''): Promise<void> {
    if (name === '') return
    if (name === DEFAULT_REFERENCE) throw invalid(`reserved keyword 'default' can not be used as ${this.#kind} name`)
    if (!isGenericName(name)) throw invalid(`${this.#kind} name contained invalid characters`)
    const isUsed = (await this.all()).some((other) => other.name === name && other.id !== ownId)
    if (isUsed) throw invalid(`${this.#kind} name already in use`)
  }

  /** Returns the stored settings, or those of a new mount. */
  config(): C {
    return readRecord<C>(this.#storage, this.#configKey) ?? this.#emptyConfig
  }

  put(record: T): Promise<void> {
    return this.#storage.write((tx) => this.putIn(tx, record))
  }

  putIn(tx: Transaction, record: T): void {
    putRecord(tx, this.#keyOf(record.id), record)
  }

  putConfig(config: C): Promise<void> {
    return this.#storage.write((tx) => this.putConfigIn(tx, config))
  }

  putConfigIn(tx: Transaction, config: C): void {
    putRecord(tx, this.#configKey, config)
  }

  /** Deletes a record. Returns true if it was the default. */
  async delete({ id }: T): Promise<boolean> {
    const config = this.config()
    await this.#storage.write((tx) => {
      tx.delete(this.#keyOf(id))
      if (config.default === id) this.putConfigIn(tx, { ...config, default: '' })
    })
    return config.default === id
  }

  /** Deletes records, and leaves the mount without a default. */
  deleteIn(tx: Transaction, records: readonly T[]): void {
    for (const { id } of records) tx.delete(this.#keyOf(id))
    this.putConfigIn(tx, { ...this.config(), default: '' })
  }

  #keyOf(id: string): string {
    return `${this.#kind}/${id}`
  }

  get #configKey(): string {
    return `config/${this.#kind}s`
  }
}
