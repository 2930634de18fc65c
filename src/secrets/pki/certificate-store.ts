/**
 * The certificates that this cluster has issued, and those that it has revoked. They stay on this performance cluster
 * and its DR secondaries.
 */
import type { BackendContext } from '../../logical/backend.js'
import { deleteKeys, pagesOf, putJson, readJson } from '../../logical/storage.js'
import { colons } from './records.js'

/** An issued certificate. */
export interface IssuedCertificate {
  /** DER in base64. */
  readonly certificate: string
  readonly notAfterMs: number
}

export interface RevokedCertificate extends IssuedCertificate {
  readonly revokedMs: number
  /** The authority of the issuer, as in `IssuerRecord`. */
  readonly authority: string
}

const FOLDERS = { issued: 'certs/', revoked: 'revoked/' } as const
type Kind = keyof typeof FOLDERS
type Stored<K extends Kind> = K extends 'revoked' ? RevokedCertificate : IssuedCertificate

/** Keeps certificates by serial number, with hyphens. */
export class CertificateStore {
  readonly #context: BackendContext

  constructor(context: BackendContext) {
    this.#context = context
  }

  put<K extends Kind>(kind: K, serial: string, certificate: Stored<K>): Promise<void> {
    return this.#context.localStorage.write((tx) => putJson(tx, FOLDERS[kind] + serial, certificate))
  }

  find<K extends Kind>(kind: K, serial: string): Stored<K> | undefined {
    return readJson<Stored<K>>(this.#context.localStorage, FOLDERS[kind] + serial)
  }

  /** Returns the serial numbers with colons, sorted. */
  async serials(kind: Kind): Promise<string[]> {
    return (await this.#context.localStorage.list(FOLDERS[kind])).map(colons)
  }

  /** Yields all certificates of a kind in pages, with their serial numbers. */
  async *pages<K extends Kind>(kind: K): AsyncGenerator<readonly (readonly [string, Stored<K>])[]> {
    for await (const keys of pagesOf(this.#context.localStorage, FOLDERS[kind])) {
      yield keys.flatMap((key) => {
        const serial = key.slice(FOLDERS[kind].length)
        const found = this.find(kind, serial)
        return found ? [[serial, found] as const] : []
      })
    }
  }

  remove(kind: Kind, serials: readonly string[]): Promise<void> {
    return deleteKeys(
      this.#context.localStorage,
      serials.map((serial) => FOLDERS[kind] + serial),
    )
  }
}

/** Returns a serial number with hyphens from a text with hyphens or colons, in any case. */
export const parseSerial = (text: string): string => text.trim().toLowerCase().replaceAll(':', '-')
