/** The keys of one mount. Each change is one transaction, which writes one record. */
import { isGenericName } from '../../base/id.js'
import { LIMITS } from '../../base/limits.js'
import type { MakePrivateKey } from '../../crypto/key-pairs.js'
import type { BackendContext } from '../../logical/backend.js'
import { requirePrimary } from '../../logical/decided-by-primary.js'
import { invalid, unsupportedPath } from '../../logical/errors.js'
import { putJson, type ReadStorage, readJson, type Transaction } from '../../logical/storage.js'
import { type KeyRecord, type KeySettings, makeVersion, newRecord, typeOf, withVersion } from './key-record.js'
import type { KeyType } from './key-types.js'

const FOLDER = 'policy/'

export class KeyStore {
  readonly context: BackendContext
  readonly #makePrivateKey: MakePrivateKey

  constructor(context: BackendContext, makePrivateKey: MakePrivateKey) {
    this.context = context
    this.#makePrivateKey = makePrivateKey
  }

  find(name: string): KeyRecord | undefined {
    return readKey(this.context.storage, name)
  }

  /** Returns a key. Throws LogicalError 400 with `text` if the key does not exist. */
  require(name: string, text = 'encryption key not found'): KeyRecord {
    const record = this.find(name)
    if (!record) throw invalid(text)
    return record
  }

  has(name: string): boolean {
    return this.context.storage.has(FOLDER + name)
  }

  names(): Promise<string[]> {
    return this.context.storage.list(FOLDER)
  }

  /**
   * Creates a key. If the key exists, returns it unchanged, regardless of the requested settings. Rejects with
   * LogicalError 404 for an invalid name, 400 for invalid settings.
   */
  async create(name: string, type: KeyType, settings: KeySettings): Promise<KeyRecord> {
    if (!isGenericName(name)) throw unsupportedPath()
    checkSettings(type, settings)
    const present = this.find(name)
    if (present) return present
    requirePrimary(this.context)
    const first = await this.#makeVersion(type)
    return this.context.storage.write((tx) => {
      const other = readKey(tx, name)
      if (other) return other
      const record = newRecord(name, type, settings, first)
      putKey(tx, record)
      return record
    })
  }

  /**
   * Changes a key. `fn` receives the stored record and returns the new record, or throws. Rejects with LogicalError 400
   * with `text` if the key does not exist.
   */
  change(name: string, text: string, fn: (record: KeyRecord) => KeyRecord): Promise<KeyRecord> {
    return this.context.storage.write((tx) => {
      const record = readKey(tx, name)
      if (!record) throw invalid(text)
      const changed = fn(record)
      putKey(tx, changed)
      return changed
    })
  }

  /** Adds a version, unless `isDue` returns false for the stored record at the time of the write. */
  async rotate(name: string, isDue: (record: KeyRecord) => boolean = () => true): Promise<KeyRecord> {
    const present = this.require(name, 'key not found')
    requirePrimary(this.context)
    const version = await this.#makeVersion(typeOf(present))
    return this.change(name, 'key not found', (record) => {
      if (record.type !== present.type) throw invalid('another request replaced the key in the meantime')
      if (!isDue(record)) return record
      if (Object.keys(record.versions).length >= LIMITS.transitKeyVersionsMax) {
        throw invalid(`the key has the maximum of ${LIMITS.transitKeyVersionsMax} versions: trim the key first`)
      }
      return withVersion(record, version)
    })
  }

  #makeVersion(type: KeyType): ReturnType<typeof makeVersion> {
    const { clock, random } = this.context
    return makeVersion(type, { random, makePrivateKey: this.#makePrivateKey }, clock.now())
  }

  remove(name: string): Promise<undefined> {
    const refuse = (why: string) => invalid(`error deleting policy ${name}: ${why}`)
    return this.context.storage.write((tx) => {
      const record = readKey(tx, name)
      if (!record) throw refuse('could not delete key; not found')
      if (!record.deletionAllowed) throw refuse('deletion is not allowed for this key')
      tx.delete(FOLDER + name)
      return undefined
    })
  }

  async restore(record: KeyRecord, replaces: boolean): Promise<void> {
    if (!isGenericName(record.name)) throw invalid(`invalid key name ${JSON.stringify(record.name)}`)
    await this.context.storage.write((tx) => {
      if (!replaces && readKey(tx, record.name)) throw invalid(`key "${record.name}" already exists`)
      putKey(tx, record)
    })
  }
}

const readKey = (storage: ReadStorage, name: string): KeyRecord | undefined =>
  readJson<KeyRecord>(storage, FOLDER + name)

const putKey = (tx: Transaction, record: KeyRecord): void => putJson(tx, FOLDER + record.name, record)

const HOUR_SECONDS = 3600

/** Throws LogicalError 400 for an invalid period. */
export const checkRotatePeriod = (seconds: number): void => {
  if (seconds !== 0 && seconds < HOUR_SECONDS) {
    throw invalid('auto rotate period must be 0 to disable or at least an hour')
  }
}

export const checkSettings = (type: KeyType, { derived, convergent, autoRotatePeriodSeconds }: KeySettings): void => {
  checkRotatePeriod(autoRotatePeriodSeconds)
  if (convergent && !derived) throw invalid('convergent encryption requires derivation to be enabled')
  if (derived && !type.derives) {
    throw invalid(`key derivation and convergent encryption not supported for keys of type ${type.name}`)
  }
  if (convergent && !type.encrypts) {
    throw invalid(`convergent encryption not supported for keys of type ${type.name}`)
  }
}
