import { createHash } from 'node:crypto'
import tls from 'node:tls'

/** The key and certificates of one side of a connection, as PEM texts. */
interface Material {
  readonly key: string
  readonly cert: string
  readonly ca: string
}

/**
 * Maximum number of cached contexts. A server presents at most two identities and dials with at most two. Further
 * contexts belong to former roles.
 */
const KEPT_MAX = 4

/**
 * Cache of TLS contexts by their keys and certificates. Creating a context costs more than opening a connection with
 * it. The cache therefore outlives role changes.
 */
export class SecureContexts {
  readonly #made = new Map<string, tls.SecureContext>()

  of(material: Material): tls.SecureContext {
    const { key, cert, ca } = material
    const name = createHash('sha256')
      .update(JSON.stringify([key, cert, ca]))
      .digest('base64')
    const context = this.#made.get(name) ?? tls.createSecureContext({ key, cert, ca, minVersion: 'TLSv1.3' })
    // The context is inserted again, so that it becomes the last one to evict.
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
