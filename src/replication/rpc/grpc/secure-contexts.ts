import { createHash } from 'node:crypto'
import tls from 'node:tls'

/** PEM texts that one side of a connection presents and trusts. */
interface Material {
  readonly key: string
  readonly cert: string
  readonly ca: string
}

/** A server presents at most two identities and dials with at most two. Other contexts belong to a former role. */
const KEPT_MAX = 4

/**
 * Cache of TLS contexts by keys and certificates. Creating a context costs more than the connection that uses it, so
 * contexts are kept while they are in use, even if the runtime is recreated.
 */
export class SecureContexts {
  readonly #made = new Map<string, tls.SecureContext>()

  of(material: Material): tls.SecureContext {
    const { key, cert, ca } = material
    const name = createHash('sha256')
      .update(JSON.stringify([key, cert, ca]))
      .digest('base64')
    const context = this.#made.get(name) ?? tls.createSecureContext({ key, cert, ca, minVersion: 'TLSv1.3' })
    // Moves the used context to the end of the eviction order.
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
