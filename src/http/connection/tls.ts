import type { Socket } from 'node:net'
import { type DetailedPeerCertificate, TLSSocket } from 'node:tls'
import { LIMITS } from '../../base/limits.js'
import { RecentCache } from '../../base/recent-cache.js'

/** Certificate and key in PEM, and the rules for client certificates. */
export interface TlsSettings {
  readonly cert: string | Buffer
  readonly key: string | Buffer
  /** The CA of client certificates. If absent, the listener accepts the certificates of every CA. */
  readonly clientCa?: string | Buffer | undefined
  readonly mustPresentCertificate?: boolean | undefined
  /** True if the listener requests no client certificates. */
  readonly ignoresClients?: boolean | undefined
  readonly minVersion?: 'TLSv1.2' | 'TLSv1.3' | undefined
  readonly maxVersion?: 'TLSv1.2' | 'TLSv1.3' | undefined
  /** The ciphers in OpenSSL format. */
  readonly ciphers?: string | undefined
}

/**
 * Returns the TLS options. By default, the listener requests a client certificate. Unless `mustPresentCertificate` is
 * true, the handshake accepts every client.
 */
const secureOptions = ({
  cert,
  key,
  clientCa,
  mustPresentCertificate = false,
  ignoresClients = false,
  minVersion,
  maxVersion,
  ciphers,
}: TlsSettings) => ({
  cert,
  key,
  ...(clientCa === undefined ? {} : { ca: clientCa }),
  requestCert: !ignoresClients || mustPresentCertificate,
  rejectUnauthorized: mustPresentCertificate,
  minVersion: minVersion ?? ('TLSv1.2' as const),
  ...(maxVersion === undefined ? {} : { maxVersion }),
  ...(ciphers ? { ciphers } : {}),
})

export type SecureOptions = ReturnType<typeof secureOptions>

/** The certificates that the clients of a listener presented. */
export class ClientCertificates {
  readonly #chains = new WeakMap<object, readonly Buffer[]>()
  /** The chains of full handshakes by leaf. A resumed session contains only the leaf. */
  readonly #known = new RecentCache<readonly Buffer[]>(LIMITS.clientChainsMax)
  #hasCa = false

  /** Returns the TLS options of the listener for its current settings. */
  optionsOf(settings: TlsSettings): SecureOptions {
    this.#hasCa = settings.clientCa !== undefined
    return secureOptions(settings)
  }

  /** Reads the certificates of a new connection. Returns false if the CA of the listener did not sign them. */
  accept(socket: Socket): boolean {
    if (!(socket instanceof TLSSocket)) return true
    // `getPeerX509Certificate` would remove the other certificates from the session.
    const leaf = socket.getPeerCertificate(true)
    // Without a certificate, Node returns an empty object, or null for a closed socket.
    if (Object.keys(leaf ?? {}).length === 0) return true
    if (this.#hasCa && !socket.authorized) return false
    const known = socket.isSessionReused() ? this.#known.get(leaf.fingerprint256) : undefined
    const chain = known ?? chainOf(leaf)
    this.#known.set(leaf.fingerprint256, chain)
    this.#chains.set(socket, chain)
    return true
  }

  /** Returns the certificates in DER, the leaf first; undefined if the client presented none. */
  of(socket: object): readonly Buffer[] | undefined {
    return this.#chains.get(socket) ?? (socket instanceof TLSSocket ? [] : undefined)
  }
}

const chainOf = (leaf: DetailedPeerCertificate): Buffer[] => {
  const chain = new Set<DetailedPeerCertificate>()
  // The issuer of a self-signed certificate is the certificate itself.
  for (let one: DetailedPeerCertificate | undefined = leaf; one && !chain.has(one); one = one.issuerCertificate)
    chain.add(one)
  return [...chain].map(({ raw }) => raw)
}
