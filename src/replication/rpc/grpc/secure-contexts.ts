import { createHash } from 'node:crypto'
import tls from 'node:tls'

/** PEM texts that one side of a connection shows and trusts. */
interface Material {
  readonly key: string
  readonly cert: string
  readonly ca: string
}

/** A server shows itself for two kinds at most and dials as many; what is older belongs to a former role. */
const KEPT_MAX = 4

/**
 * TLS contexts of keys and certificates. Making one costs more than the connection that it is for, so they are kept
 * while they are in use, also when the runtime around them is made anew.
 */
export class SecureContexts {
  readonly #made = new Map<string, tls.SecureContext>()

  of(material: Material): tls.SecureContext {
    const { key, cert, ca } = material
    const name = createHash('sha256')
      .update(JSON.stringify([key, cert, ca]))
      .digest('base64')
    const context = this.#made.get(name) ?? tls.createSecureContext({ key, cert, ca, minVersion: 'TLSv1.3' })
    // The one that is used is the youngest again.
    this.#made.delete(name)
    this.#made.set(name, context)
    const [oldest = name] = this.#made.keys()
    if (this.#made.size > KEPT_MAX) this.#made.delete(oldest)
    return context
  }

  clear(): void {
    this.#made.clear()
  }
}
