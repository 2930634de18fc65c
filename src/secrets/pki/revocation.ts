/**
 * Revocation of certificates, and the revocation lists of this cluster. Each performance cluster revokes only
 * certificates that it knows, and has its own lists.
 */
import { parseDurationMs } from '../../base/duration.js'
import { KeyedLock } from '../../base/keyed-lock.js'
import { nextTurn } from '../../base/turn.js'
import { sha256Hex } from '../../crypto/digest.js'
import { createCrl, crlEntry } from '../../crypto/x509-crl.js'
import { isIssuedBy } from '../../crypto/x509-parsing.js'
import type { LeasedSecret } from '../../logical/request.js'
import { putJson, readJson } from '../../logical/storage.js'
import type { Authorities } from './authorities.js'
import type { CertificateStore, IssuedCertificate, RevokedCertificate } from './certificate-store.js'
import { crlConfigOf } from './crl-config.js'
import { requireSigningKey } from './issuance.js'
import { DEFAULT_REFERENCE } from './named-records.js'
import { certificateOf, type IssuerRecord, x509Of } from './records.js'
import { signatureOf } from './revocation-algorithms.js'

interface StoredCrl {
  readonly number: number
  /** DER in base64. */
  readonly der: string
  readonly nextUpdateMs: number
  /** Hash of the settings with which the list was built. */
  readonly basis: string
}

const FOLDER = 'crls/'

export class Revocation {
  readonly #authorities: Authorities
  readonly #store: CertificateStore
  readonly #lock = new KeyedLock()
  /** The builds that have not started, by authority. */
  readonly #waiting = new Map<string, Promise<StoredCrl>>()

  constructor(authorities: Authorities, store: CertificateStore) {
    this.#authorities = authorities
    this.#store = store
  }

  /**
   * Stores that a certificate is revoked, and rebuilds the list of its issuer unless lists are rebuilt periodically.
   * Returns the time of the revocation, which is the earlier one for a certificate that was revoked before. A repeated
   * revocation rebuilds the list too: the server may have stopped between the two writes of the first one.
   */
  async record(serial: string, certificate: IssuedCertificate, nowMs: number): Promise<number> {
    const before = this.#store.find('revoked', serial)
    const authority = before?.authority ?? (await this.#authorityOf(certificate))
    if (!before) await this.#store.put('revoked', serial, { ...certificate, revokedMs: nowMs, authority })
    if (!crlConfigOf(this.#authorities.context).auto_rebuild) await this.rebuild(authority)
    return before?.revokedMs ?? nowMs
  }

  /** Returns the authority that signed a certificate; '' if the mount has none. A self-signed certificate has none. */
  async #authorityOf({ certificate }: IssuedCertificate): Promise<string> {
    const issued = x509Of({ certificate })
    const others = (await this.#authorities.issuers.all()).filter((issuer) => issuer.certificate !== certificate)
    return others.find((issuer) => isIssuedBy(issued, x509Of(issuer)))?.authority ?? ''
  }

  /** Revokes a certificate at the end of its lease. Does nothing if the certificate has expired or is not stored. */
  async revokeLease({ internal: { serial } }: LeasedSecret): Promise<void> {
    const certificate = typeof serial === 'string' ? this.#store.find('issued', serial) : undefined
    const nowMs = this.#authorities.context.clock.now()
    if (typeof serial === 'string' && certificate && certificate.notAfterMs > nowMs) {
      await this.record(serial, certificate, nowMs)
    }
  }

  /** Rebuilds the list of an authority, or all lists without one. */
  async rebuild(authority?: string): Promise<void> {
    const issuers = await this.#authorities.issuers.all()
    const isKnown = issuers.some((issuer) => issuer.authority === authority)
    const { default: defaultId } = this.#authorities.issuers.config()
    for (const issuer of issuers) {
      const isAffected = isKnown ? issuer.authority === authority : authority === undefined || issuer.id === defaultId
      if (isAffected && this.#canSign(issuer)) await this.#build(issuer)
    }
  }

  #canSign(issuer: IssuerRecord): boolean {
    return issuer.keyId !== '' && issuer.usage.includes('crl-signing')
  }

  /**
   * Returns the DER of an issuer's revocation list. Builds the list if there is none, if the settings have changed, or
   * if it must be rebuilt periodically. Returns undefined if the issuer cannot sign a list and there is none.
   */
  async listOf(issuer: IssuerRecord): Promise<Buffer | undefined> {
    const { context } = this.#authorities
    const stored = this.#stored(issuer)
    const config = crlConfigOf(context)
    const graceMs = parseDurationMs(config.auto_rebuild_grace_period) ?? 0
    const isDue = config.auto_rebuild && stored && context.clock.now() >= stored.nextUpdateMs - graceMs
    const isCurrent = stored && stored.basis === this.#basis() && !isDue
    const list = isCurrent || !this.#canSign(issuer) ? stored : await this.#build(issuer)
    return list && Buffer.from(list.der, 'base64')
  }

  #stored({ authority }: IssuerRecord): StoredCrl | undefined {
    return readJson<StoredCrl>(this.#authorities.context.localStorage, FOLDER + authority)
  }

  /** Returns the hash of the settings that change the content of a list. */
  #basis(): string {
    const { disable, expiry } = crlConfigOf(this.#authorities.context)
    return sha256Hex(JSON.stringify([disable, expiry]))
  }

  /** Builds a list that contains all certificates revoked so far. Calls that wait for their turn share one build. */
  #build(issuer: IssuerRecord): Promise<StoredCrl> {
    const { authority } = issuer
    const waiting = this.#waiting.get(authority)
    if (waiting) return waiting
    const build = this.#lock.run(authority, async () => {
      // The lock may run this at once, before the build is in the map.
      await Promise.resolve()
      this.#waiting.delete(authority)
      return this.#sign(issuer)
    })
    this.#waiting.set(authority, build)
    return build
  }

  async #sign(issuer: IssuerRecord): Promise<StoredCrl> {
    const { context } = this.#authorities
    const config = crlConfigOf(context)
    const thisUpdateMs = context.clock.now()
    const nextUpdateMs = thisUpdateMs + (parseDurationMs(config.expiry) ?? 0)
    const number = (this.#stored(issuer)?.number ?? 0) + 1
    const key = requireSigningKey(this.#authorities, issuer, 'crl-signing')
    const entries = config.disable ? [] : await this.#entriesOf(issuer, thisUpdateMs)
    const list = { issuer: certificateOf(issuer), number, thisUpdateMs, nextUpdateMs, entries }
    const der = await createCrl(list, { key, ...signatureOf(issuer) })
    const stored: StoredCrl = { number, der: der.toString('base64'), nextUpdateMs, basis: this.#basis() }
    await context.localStorage.write((tx) => putJson(tx, FOLDER + issuer.authority, stored))
    return stored
  }

  /**
   * Returns the entries of the revoked certificates of an issuer that have not expired. The default issuer also lists
   * those whose issuer is not in the mount.
   */
  async #entriesOf(issuer: IssuerRecord, nowMs: number) {
    const authorities = new Set((await this.#authorities.issuers.all()).map(({ authority }) => authority))
    const isDefault = (await this.#authorities.issuers.find(DEFAULT_REFERENCE))?.authority === issuer.authority
    const isListed = ({ authority, notAfterMs }: RevokedCertificate) =>
      notAfterMs > nowMs && (authority === issuer.authority || (isDefault && !authorities.has(authority)))
    const entries: Buffer[] = []
    for await (const page of this.#store.pages('revoked')) {
      const listed = page.filter(([, revoked]) => isListed(revoked))
      entries.push(...listed.map(([serial, { revokedMs }]) => crlEntry(serial.replaceAll('-', ''), revokedMs)))
      await nextTurn()
    }
    return entries
  }
}
