/** The issuers and keys of one mount. Only the performance primary changes them, one change after the other. */
import { requirePrimary } from '../../logical/decided-by-primary.js'
import { uuid } from '../../base/id.js'
import { KeyedLock } from '../../base/keyed-lock.js'
import { isIssuedBy, type ParsedCertificate } from '../../crypto/x509-parsing.js'
import type { BackendContext } from '../../logical/backend.js'
import { type IssuerRecord, type KeyRecord, newIssuer, newKey, x509Of } from './records.js'
import type { KeyTypeName } from './key-types.js'
import { type DefaultConfig, NamedRecords } from './named-records.js'

interface IssuerConfig extends DefaultConfig {
  readonly followsLatest: boolean
}

/** Finds the key of a public key. */
const ofSamePublicKey = <T extends { readonly publicHash: string }>(records: readonly T[], publicHash: string) =>
  records.find((record) => record.publicHash === publicHash)

export class Authorities {
  readonly context: BackendContext
  readonly issuers: NamedRecords<IssuerRecord, IssuerConfig>
  readonly keys: NamedRecords<KeyRecord>
  readonly #lock = new KeyedLock()
  /** The chain of an issuer, with the issuers among which it was searched. */
  readonly #chains = new WeakMap<IssuerRecord, { among: string; chain: readonly IssuerRecord[] }>()

  constructor(context: BackendContext) {
    this.context = context
    this.issuers = new NamedRecords(context.storage, 'issuer', { default: '', followsLatest: false })
    this.keys = new NamedRecords(context.storage, 'key', { default: '' })
  }

  /** Runs one change. Rejects with LogicalError `read-only` on a cluster that cannot change the mount. */
  async change<T>(fn: () => Promise<T>): Promise<T> {
    requirePrimary(this.context)
    return this.#lock.run('', fn)
  }

  /** Returns the issuer and its parents. Uses the manual chain if the issuer has one. */
  async chainOf(issuer: IssuerRecord): Promise<readonly IssuerRecord[]> {
    if (issuer.manualChain.length > 0) return issuer.manualChain.flatMap((id) => this.issuers.findById(id) ?? [])
    const all = await this.issuers.all()
    const among = all.map(({ id }) => id).join(' ')
    const known = this.#chains.get(issuer)
    if (known?.among === among) return known.chain
    const chain = [issuer]
    for (let last: IssuerRecord | undefined = issuer; last && !last.isSelfSigned; ) {
      const certificate = x509Of(last)
      last = all.find((other) => !chain.includes(other) && isIssuedBy(certificate, x509Of(other)))
      if (last) chain.push(last)
    }
    this.#chains.set(issuer, { among, chain })
    return chain
  }

  /** Returns a new key, or the existing record of the same key. Call it within `change`. */
  async draftKey(name: string, type: KeyTypeName, material: Buffer): Promise<Drafted<KeyRecord>> {
    const record = newKey(uuid(this.context.random), name, type, material)
    const present = ofSamePublicKey(await this.keys.all(), record.publicHash)
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
    const present = (await this.issuers.all()).find((other) => other.certificate === record.certificate)
    if (present) return { record: present, isNew: false }
    const key = ofSamePublicKey([...drafts, ...(await this.keys.all())], record.publicHash)
    return { record: { ...record, keyId: key?.id ?? '' }, isNew: true }
  }

  /**
   * Stores new issuers and keys, connects existing issuers with new keys, and sets the defaults. Call it within
   * `change`.
   */
  async add(issuers: readonly IssuerRecord[], keys: readonly KeyRecord[]): Promise<void> {
    const completed = (await this.issuers.all()).flatMap((issuer) => {
      const key = issuer.keyId === '' ? ofSamePublicKey(keys, issuer.publicHash) : undefined
      return key ? [{ ...issuer, keyId: key.id }] : []
    })
    const usable = issuers.filter(({ keyId }) => keyId !== '')
    const config = this.issuers.config()
    const first = config.default === '' ? (usable[0] ?? issuers[0]) : undefined
    const latest = config.followsLatest && usable.length === 1 ? usable[0] : first
    await this.context.storage.write((tx) => {
      for (const issuer of [...issuers, ...completed]) this.issuers.putIn(tx, issuer)
      for (const key of keys) this.keys.putIn(tx, key)
      if (latest) this.issuers.putConfigIn(tx, { ...config, default: latest.id })
      const [key] = keys
      if (key && this.keys.config().default === '') this.keys.putConfigIn(tx, { default: key.id })
    })
  }

  async deleteAll(): Promise<void> {
    const [issuers, keys] = [await this.issuers.all(), await this.keys.all()]
    await this.context.storage.write((tx) => {
      this.issuers.deleteIn(tx, issuers)
      this.keys.deleteIn(tx, keys)
    })
  }
}

interface Drafted<T> {
  readonly record: T
  readonly isNew: boolean
}
