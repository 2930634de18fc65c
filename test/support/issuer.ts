import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { exportJWK, SignJWT } from 'jose'
import type { JsonObject } from '../../src/logical/json.js'

/** An issuer of tokens with one P-256 key. */
export class Issuer {
  readonly id: string
  readonly #pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })

  constructor(id = 'k1') {
    this.id = id
  }

  get publicKeyPem(): string {
    return this.#pair.publicKey.export({ type: 'spki', format: 'pem' }).toString()
  }

  get privateKey(): KeyObject {
    return this.#pair.privateKey
  }

  async keySet(): Promise<string> {
    return JSON.stringify({ keys: [{ ...(await exportJWK(this.#pair.publicKey)), kid: this.id }] })
  }

  sign(claims: JsonObject): Promise<string> {
    return new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid: this.id }).sign(this.#pair.privateKey)
  }
}
