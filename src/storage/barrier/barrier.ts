import type { Clock } from '../../base/clock.js'
import { createSystemRandom, type Random } from '../../base/random.js'
import { deriveKey } from '../../crypto/digest.js'
import { Keyring } from '../../crypto/keyring.js'
import { LogicalError, sealed } from '../../logical/errors.js'
import type { Storage, Transaction } from '../../logical/storage.js'
import { knowsTerm, openValue, openWithRoot, sealValue, sealWithRoot } from './barrier-codec.js'
import type { KeyScan } from '../store/key-scan.js'
import { OpenedValues } from './opened-values.js'
import { EncryptionCount } from './encryption-count.js'
import { isPlainKey, KEYS } from '../keys/key-families.js'
import type { Store, Written } from '../store/store.js'
import { StorageView } from '../store/view.js'

interface BarrierOptions {
  readonly store: Store
  readonly clock: Clock
  readonly random?: Random
  /** Given where it has to go on over several barriers. */
  readonly encryptions?: EncryptionCount
}

interface Unsealed {
  readonly rootKey: Buffer
  keyring: Keyring
}

/**
 * Encrypts values on their way into the store. Sealed until it is given the root key, which opens the keyring; sealed,
 * only plain keys can be read and written.
 */
export class Barrier {
  readonly #store: Store
  readonly #clock: Clock
  readonly #random: Random
  readonly #derived = new Map<string, Buffer>()
  readonly #opened = new OpenedValues()
  readonly #encryptions: EncryptionCount
  #unsealed: Unsealed | undefined

  constructor(options: BarrierOptions) {
    this.#store = options.store
    this.#clock = options.clock
    this.#random = options.random ?? createSystemRandom()
    this.#encryptions = options.encryptions ?? new EncryptionCount()
    this.#store.onChange({
      seal: (key) => {
        if (key === KEYS.keyring) this.#reloadKeyring()
      },
    })
  }

  get isSealed(): boolean {
    return this.#unsealed === undefined
  }

  /** True when the store holds a keyring. */
  get isInitialized(): boolean {
    return this.#store.get(KEYS.keyring) !== undefined
  }

  /** Term of the key that new values are encrypted with, and since when in milliseconds. */
  get activeTerm(): { readonly term: number; readonly sinceMs: number } {
    const { keyring } = this.#requireUnsealed()
    return { term: keyring.activeTerm, sinceMs: keyring.activeSinceMs }
  }

  /** Values encrypted by this barrier, and by those before it that counted in the same place. */
  get encryptions(): number {
    return this.#encryptions.total
  }

  /** Makes the first keyring, and stays sealed. */
  async initialize(rootKey: Buffer): Promise<void> {
    const record = this.#wrap(rootKey, Keyring.create(this.#random, this.#clock.now()))
    await this.#store.write((tx) => {
      if (tx.get(KEYS.keyring) !== undefined)
        throw new LogicalError('invalid-request', 'the barrier is already initialized')
      tx.put(KEYS.keyring, record)
    })
  }

  /** Fails with LogicalError `invalid-request` when the root key is not the one, and stays as it was. */
  unseal(rootKey: Buffer): void {
    this.#unsealed = { rootKey: Buffer.from(rootKey), keyring: this.#readKeyring(rootKey) }
    this.#forgetDerived()
  }

  seal(): void {
    this.#unsealed?.rootKey.fill(0)
    this.#unsealed = undefined
    this.#forgetDerived()
  }

  /** Tells whether a root key is the one, sealed or not. */
  isRootKey(rootKey: Buffer): boolean {
    const stored = this.#store.get(KEYS.keyring)
    return stored !== undefined && openWithRoot(rootKey, KEYS.keyring, stored) !== undefined
  }

  /** New values are encrypted with a new key from now on; old ones stay readable. Resolves to the new term. */
  async rotate(): Promise<number> {
    const { rootKey, keyring } = this.#requireUnsealed()
    const rotated = keyring.rotated(this.#random, this.#clock.now())
    await this.#store.write((tx) => tx.put(KEYS.keyring, this.#wrap(rootKey, rotated)))
    return rotated.activeTerm
  }

  get(key: string): Buffer | undefined {
    const stored = this.#store.get(key)
    if (isPlainKey(key)) return stored
    this.#requireUnsealed()
    return stored === undefined ? undefined : this.#open(key, stored)
  }

  /** Whether the key holds anything: nothing is decrypted for that. */
  has(key: string): boolean {
    if (!isPlainKey(key)) this.#requireUnsealed()
    return this.#store.has(key)
  }

  /** Writes as `Store.write` does, below `prefix`; the function sees plain values. */
  write<T>(fn: (tx: Transaction) => T, prefix = ''): Promise<Written<T>> {
    return this.#store.write((tx) =>
      fn({
        get: (key) => this.#openIn(tx, prefix + key),
        put: (key, value) => tx.put(prefix + key, this.#toStored(prefix + key, value)),
        delete: (key) => tx.delete(prefix + key),
      }),
    )
  }

  /** Committed keys below a prefix, in order. */
  scanKeys(scan: KeyScan): AsyncIterable<readonly string[]> {
    this.#requireUnsealed()
    return this.#store.scanKeys(scan)
  }

  /** The keys below `prefix` as a storage of their own. */
  view(prefix: string): Storage {
    return new StorageView(this, prefix)
  }

  /** 32 bytes for one purpose, equal on all clusters that share this keyring and never rotated. */
  deriveKey(purpose: string): Buffer {
    const { keyring } = this.#requireUnsealed()
    let found = this.#derived.get(purpose)
    if (found === undefined) {
      found = deriveKey(keyring.derivationKey, purpose)
      this.#derived.set(purpose, found)
    }
    return found
  }

  #openIn(tx: Transaction, key: string): Buffer | undefined {
    const stored = tx.get(key)
    if (stored === undefined || isPlainKey(key)) return stored
    return this.#open(key, stored)
  }

  #open(key: string, stored: Buffer): Buffer {
    // Values of a rotation elsewhere can be read a moment before its keyring is announced.
    if (!knowsTerm(this.#requireUnsealed().keyring, stored)) this.#reloadKeyring()
    const { keyring } = this.#requireUnsealed()
    const known = this.#opened.find(key, stored)
    if (known !== undefined) return known
    const plain = openValue(keyring, key, stored)
    this.#opened.add(key, stored, plain)
    return plain
  }

  #toStored(key: string, value: Buffer): Buffer {
    if (isPlainKey(key)) return value
    this.#encryptions.add()
    const stored = sealValue(this.#random, this.#requireUnsealed().keyring, key, value)
    this.#opened.renew(key, stored, value)
    return stored
  }

  #wrap(rootKey: Buffer, keyring: Keyring): Buffer {
    return sealWithRoot(this.#random, rootKey, KEYS.keyring, keyring.serialize())
  }

  #readKeyring(rootKey: Buffer): Keyring {
    const stored = this.#store.get(KEYS.keyring)
    if (stored === undefined) throw new LogicalError('invalid-request', 'the barrier is not initialized')
    const plain = openWithRoot(rootKey, KEYS.keyring, stored)
    if (plain === undefined) throw new LogicalError('invalid-request', 'the root key does not open the keyring')
    return Keyring.parse(plain)
  }

  /** The stored keyring changed. One that the root key does not open is another set's: the barrier seals. */
  #reloadKeyring(): void {
    if (this.#unsealed === undefined) return
    const { rootKey } = this.#unsealed
    if (!this.isRootKey(rootKey)) {
      this.seal()
      return
    }
    this.#unsealed = { rootKey, keyring: this.#readKeyring(rootKey) }
    this.#forgetDerived()
  }

  /** Drops everything that was derived or opened with keys that are gone or others now. */
  #forgetDerived(): void {
    this.#derived.clear()
    this.#opened.clear()
  }

  #requireUnsealed(): Unsealed {
    if (this.#unsealed === undefined) throw sealed()
    return this.#unsealed
  }
}
