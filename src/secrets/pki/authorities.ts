/** The issuers and keys of one mount. Only the performance primary changes them, one change after the other. */
import { uuid } from '../../base/id.js'
import { KeyedLock } from '../../base/keyed-lock.js'
import { isIssuedBy, type ParsedCertificate } from '../../crypto/x509-parsing.js'
import type { BackendContext } from '../../logical/backend.js'
import { readOnly } from '../../logical/decided-by-primary.js'
import { invalid, LogicalError } from '../../logical/errors.js'
import { putRecord, readRecord, type Storage, type Transaction } from '../../logical/storage.js'
import { certificateOf, type IssuerRecord, type KeyRecord, newIssuer, newKey } from './records.js'
import type { KeyTypeName } from './key-types.js'

interface IssuerConfig {
  /** Empty if there is no default. */
  readonly default: string
  readonly followsLatest: boolean
}

interface KeyConfig {
  readonly default: string
}

const FOLDERS = { issuer: 'issuer/', key: 'key/' } as const
const CONFIGS = { issuer: 'config/issuers', key: 'config/keys' } as const

export const DEFAULT_REFERENCE = 'default'

export const NO_DEFAULT_ISSUER = 'no default issuer currently configured'

/** Vault responds with 500 to a reference that it cannot resolve. Clients depend on the code and on the text. */
const missing = (text: string) => new LogicalError('internal', text, { wrapped: true })

/** Finds the key of a public key. */
const ofSamePublicKey = <T extends { readonly publicHash: string }>(records: readonly T[], publicHash: string) =>
  records.find((record) => record.publicHash === publicHash)

export class Authorities {
  readonly context: BackendContext
  readonly #storage: Storage
  readonly #lock = new KeyedLock()
  /** The chain of an issuer, with the issuers among which it was searched. */
  readonly #chains = new WeakMap<IssuerRecord, { among: string; chain: readonly IssuerRecord[] }>()

  constructor(context: BackendContext) {
    this.context = context
    this.#storage = context.storage
  }

  /** Runs one change. Rejects with LogicalError `read-only` on a cluster that cannot change the mount. */
  async change<T>(fn: () => Promise<T>): Promise<T> {
    if (this.context.isReadOnly()) throw readOnly()
    return this.#lock.run('', fn)
  }

  issuers(): Promise<readonly IssuerRecord[]> {
    return this.#all<IssuerRecord>(FOLDERS.issuer)
  }

  keys(): Promise<readonly KeyRecord[]> {
    return this.#all<KeyRecord>(FOLDERS.key)
  }

  async #all<T>(folder: string): Promise<readonly T[]> {
    const ids = await this.#storage.keys(folder)
    return ids.flatMap((key) => readRecord<T>(this.#storage, key) ?? [])
  }

  issuerConfig(): IssuerConfig {
    return readRecord<IssuerConfig>(this.#storage, CONFIGS.issuer) ?? { default: '', followsLatest: false }
  }

  keyConfig(): KeyConfig {
    return readRecord<KeyConfig>(this.#storage, CONFIGS.key) ?? { default: '' }
  }

  async findIssuer(reference: string): Promise<IssuerRecord | undefined> {
    const id = reference === DEFAULT_REFERENCE ? this.issuerConfig().default : reference
    return this.#find<IssuerRecord>(FOLDERS.issuer, id)
  }

  /** Returns an issuer by `default`, ID or name. Rejects with LogicalError 500 if there is none. */
  async requireIssuer(reference: string): Promise<IssuerRecord> {
    const found = await this.findIssuer(reference)
    if (found) return found
    throw missing(
      reference === DEFAULT_REFERENCE ? NO_DEFAULT_ISSUER : `unable to find PKI issuer for reference: ${reference}`,
    )
  }

  async findKey(reference: string): Promise<KeyRecord | undefined> {
    const id = reference === DEFAULT_REFERENCE ? this.keyConfig().default : reference
    return this.#find<KeyRecord>(FOLDERS.key, id)
  }

  /** Returns a key by `default`, ID or name. Rejects with LogicalError 500 if there is none. */
  async requireKey(reference: string): Promise<KeyRecord> {
    const found = await this.findKey(reference)
    if (found) return found
    const isDefault = reference === DEFAULT_REFERENCE
    throw missing(
      isDefault ? 'no default key currently configured' : `unable to find PKI key for reference: ${reference}`,
    )
  }

  async #find<T extends { readonly name: string }>(folder: string, reference: string): Promise<T | undefined> {
    if (reference === '') return undefined
    const byId = readRecord<T>(this.#storage, folder + reference)
    return byId ?? (await this.#all<T>(folder)).find(({ name }) => name === reference)
  }

  /** Returns the key of an issuer; undefined if the mount does not have it. */
  keyOf({ keyId }: IssuerRecord): KeyRecord | undefined {
    return keyId === '' ? undefined : readRecord<KeyRecord>(this.#storage, FOLDERS.key + keyId)
  }

  /** Returns the issuer and its parents. Uses the manual chain if the issuer has one. */
  async chainOf(issuer: IssuerRecord): Promise<readonly IssuerRecord[]> {
    const all = await this.issuers()
    const byId = (id: string) => all.find((other) => other.id === id) ?? []
    if (issuer.manualChain.length > 0) return issuer.manualChain.flatMap(byId)
    const among = all.map(({ id }) => id).join(' ')
    const known = this.#chains.get(issuer)
    if (known?.among === among) return known.chain
    const chain = [issuer]
    for (let last: IssuerRecord | undefined = issuer; last && !last.isSelfSigned; ) {
      const child: IssuerRecord = last
      last = all.find((other) => !chain.includes(other) && isIssuedBy(certificateOf(child), certificateOf(other)))
      if (last) chain.push(last)
    }
    this.#chains.set(issuer, { among, chain })
    return chain
  }

  /** Rejects with LogicalError 400 if another issuer or key has the name, or if the name is not valid. */
  async checkName(kind: 'issuer' | 'key', name: string, ownId = ''): Promise<void> {
    if (name === '') return
    if (name === DEFAULT_REFERENCE) throw invalid(`reserved keyword 'default' can not be used as ${kind} name`)
    if (!NAME.test(name)) throw invalid(`${kind} name contained invalid characters`)
    const all: readonly { readonly id: string; readonly name: string }[] =
      kind === 'issuer' ? await this.issuers() : await this.keys()
    if (all.some((other) => other.name === name && other.id !== ownId)) throw invalid(`${kind} name already in use`)
  }

  /** Returns a new key, or the existing record of the same key. Call it within `change`. */
  async draftKey(name: string, type: KeyTypeName, material: Buffer): Promise<Drafted<KeyRecord>> {
    const record = newKey(uuid(this.context.random), name, type, material)
    const present = ofSamePublicKey(await this.keys(), record.publicHash)
    return present ? { record: present, isNew: false } : { record, isNew: true }
  }

  /**
   * Returns a new issuer with its key, which can be one of `drafts`, or the existing record of the same certificate.
   * Call it within `change`.
   */
  async draftIssuer(
    name: string,
    certificate: ParsedCertificate,
    drafts: readonly KeyRecord[],
  ): Promise<Drafted<IssuerRecord>> {
    const record = newIssuer(uuid(this.context.random), name, '', certificate)
    const present = (await this.issuers()).find((other) => other.certificate === record.certificate)
    if (present) return { record: present, isNew: false }
    const key = ofSamePublicKey([...drafts, ...(await this.keys())], record.publicHash)
    return { record: { ...record, keyId: key?.id ?? '' }, isNew: true }
  }

  /**
   * Stores new issuers and keys, connects existing issuers with new keys, and sets the defaults. Call it within
   * `change`.
   */
  async add(issuers: readonly IssuerRecord[], keys: readonly KeyRecord[]): Promise<void> {
    const completed = (await this.issuers()).flatMap((issuer) => {
      const key = issuer.keyId === '' ? ofSamePublicKey(keys, issuer.publicHash) : undefined
      return key ? [{ ...issuer, keyId: key.id }] : []
    })
    const usable = issuers.filter(({ keyId }) => keyId !== '')
    const config = this.issuerConfig()
    const first = config.default === '' ? (usable[0] ?? issuers[0]) : undefined
    const latest = config.followsLatest && usable.length === 1 ? usable[0] : first
    await this.#storage.write((tx) => {
      for (const issuer of [...issuers, ...completed]) putRecord(tx, FOLDERS.issuer + issuer.id, issuer)
      for (const key of keys) putRecord(tx, FOLDERS.key + key.id, key)
      if (latest) putRecord(tx, CONFIGS.issuer, { ...config, default: latest.id })
      const [key] = keys
      if (key && this.keyConfig().default === '') putRecord(tx, CONFIGS.key, { default: key.id })
    })
  }

  putIssuer(issuer: IssuerRecord): Promise<void> {
    return this.#storage.write((tx) => putRecord(tx, FOLDERS.issuer + issuer.id, issuer))
  }

  putKey(key: KeyRecord): Promise<void> {
    return this.#storage.write((tx) => putRecord(tx, FOLDERS.key + key.id, key))
  }

  putIssuerConfig(config: IssuerConfig): Promise<void> {
    return this.#storage.write((tx) => putRecord(tx, CONFIGS.issuer, config))
  }

  putKeyConfig(config: KeyConfig): Promise<void> {
    return this.#storage.write((tx) => putRecord(tx, CONFIGS.key, config))
  }

  /** Deletes an issuer. Returns true if it was the default. */
  async deleteIssuer({ id }: IssuerRecord): Promise<boolean> {
    const config = this.issuerConfig()
    await this.#storage.write((tx) => {
      tx.delete(FOLDERS.issuer + id)
      if (config.default === id) putRecord(tx, CONFIGS.issuer, { ...config, default: '' })
    })
    return config.default === id
  }

  /** Deletes a key. Returns true if it was the default. */
  async deleteKey({ id }: KeyRecord): Promise<boolean> {
    const isDefault = this.keyConfig().default === id
    await this.#storage.write((tx) => {
      tx.delete(FOLDERS.key + id)
      if (isDefault) putRecord(tx, CONFIGS.key, { default: '' })
    })
    return isDefault
  }

  async deleteAll(): Promise<void> {
    const keys = [...(await this.#storage.keys(FOLDERS.issuer)), ...(await this.#storage.keys(FOLDERS.key))]
    const { followsLatest } = this.issuerConfig()
    await this.#storage.write((tx: Transaction) => {
      for (const key of keys) tx.delete(key)
      putRecord(tx, CONFIGS.issuer, { default: '', followsLatest })
      putRecord(tx, CONFIGS.key, { default: '' })
    })
  }
}

interface Drafted<T> {
  readonly record: T
  readonly isNew: boolean
}

const NAME = /^\w(?:[\w.-]*\w)?$/
