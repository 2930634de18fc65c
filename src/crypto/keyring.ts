import type { Random } from '../base/random.js'
import { AEAD_KEY_BYTES } from './aead.js'

interface KeyringText {
  readonly version: 1
  readonly activeTerm: number
  readonly derivationKey: string
  readonly terms: readonly { readonly term: number; readonly key: string; readonly createdMs: number }[]
}

interface Term {
  readonly key: Buffer
  readonly createdMs: number
}

/**
 * The data keys of a barrier. Each key has a term. New values are encrypted with the key of the active term. Values of
 * older terms stay readable. The derivation key is created once and never rotated, so all clusters with this keyring
 * derive the same values from it.
 */
export class Keyring {
  readonly activeTerm: number
  readonly derivationKey: Buffer
  readonly #terms: ReadonlyMap<number, Term>

  private constructor(activeTerm: number, derivationKey: Buffer, terms: ReadonlyMap<number, Term>) {
    this.activeTerm = activeTerm
    this.derivationKey = derivationKey
    this.#terms = terms
  }

  static create(random: Random, nowMs: number): Keyring {
    const first: Term = { key: random.bytes(AEAD_KEY_BYTES), createdMs: nowMs }
    return new Keyring(1, random.bytes(AEAD_KEY_BYTES), new Map([[1, first]]))
  }

  /** Returns a copy of the keyring with an additional term, which is the active term. */
  rotated(random: Random, nowMs: number): Keyring {
    const term = this.activeTerm + 1
    const terms = new Map(this.#terms).set(term, { key: random.bytes(AEAD_KEY_BYTES), createdMs: nowMs })
    return new Keyring(term, this.derivationKey, terms)
  }

  find(term: number): Buffer | undefined {
    return this.#terms.get(term)?.key
  }

  /** Start of the active term, in ms since the epoch. */
  get activeSinceMs(): number {
    return this.#terms.get(this.activeTerm)?.createdMs ?? 0
  }

  /** Returns the keyring in plaintext. The caller must encrypt it before it is stored. */
  serialize(): Buffer {
    const text: KeyringText = {
      version: 1,
      activeTerm: this.activeTerm,
      derivationKey: this.derivationKey.toString('base64'),
      terms: [...this.#terms].map(([term, { key, createdMs }]) => ({ term, key: key.toString('base64'), createdMs })),
    }
    return Buffer.from(JSON.stringify(text))
  }

  static parse(bytes: Buffer): Keyring {
    const text = JSON.parse(bytes.toString('utf8')) as KeyringText
    const terms = new Map<number, Term>()
    for (const { term, key, createdMs } of text.terms) terms.set(term, { key: Buffer.from(key, 'base64'), createdMs })
    return new Keyring(text.activeTerm, Buffer.from(text.derivationKey, 'base64'), terms)
  }
}
