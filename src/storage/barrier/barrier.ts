import type { Clock } from '../../base/clock.js'
import { createSystemRandom, type Random } from '../../base/random.js'
import { deriveKey } from '../../crypto/digest.js'
import { Keyring } from '../../crypto/keyring.js'
import { LogicalError, sealed } from '../../logical/errors.js'
import type { Storage, Transaction } from '../../logical/storage.js'
import { knowsTerm, openValue, openWithRoot, sealValue, sealWithRoot } from './barrier-codec.js'
import type { KeyScan } from '../store/key-scan.js'
import { DecryptionCache } from './decryption-cache.js'
import { isPlainKey, KEYS } from '../keys/key-families.js'
import type { Store, Written } from '../store/store.js'
import { StorageView } from '../store/view.js'

interface BarrierOptions {
  readonly store: Store
  readonly clock: Clock
  readonly random?: Random
  /** Counter of encrypted values (default: a new counter). Barriers that share it continue the same count. */
  readonly encryptions?: EncryptionCount
}

/** Counts encrypted values across all barriers of a server, because the counter of a metric must not decrease. */
export interface EncryptionCount {
  total: number
}

interface Unsealed {
  readonly rootKey: Buffer
  keyring: Keyring
}

/**
 * Encrypts values before they are stored. The barrier is sealed until `unseal` receives the root key, which decrypts
 * the keyring. While the barrier is sealed, only keys with unencrypted values (plain keys) can be read and written.
 */
export class Barrier {
  readonly #store: Store
  readonly #clock: Clock
  readonly #random: Random
  readonly #derived = new Map<string, Buffer>()
  readonly #opened = new DecryptionCache()
  readonly #encryptions: EncryptionCount
  #unsealed: Unsealed | undefined

  constructor(options: BarrierOptions) {
    this.#store = options.store
    this.#clock = options.clock
    this.#random = options.random ?? createSystemRandom()
    this.#encryptions = options.encryptions ?? { total: 0 }
    this.#store.onChange({
      seal: (key) => {
        if (key === KEYS.keyring) this.#reloadKeyring()
      },
    })
  }

  get isSealed(): boolean {
    return this.#unsealed === undefined
  }

  /** Returns true if the store holds a keyring. */
  get isInitialized(): boolean {
    return this.#store.get(KEYS.keyring) !== undefined
  }

  /** Returns the term of the key that encrypts new values, and the creation time of this key in Unix milliseconds. */
  get activeTerm(): { readonly term: number; readonly sinceMs: number } {
    const { keyring } = this.#requireUnsealed()
    return { term: keyring.activeTerm, sinceMs: keyring.activeSinceMs }
  }

  /** Returns the number of values encrypted by this barrier and by earlier barriers with the same counter. */
  get encryptions(): number {
    return this.#encryptions.total
  }

  /** Creates the first keyring. The barrier stays sealed. Rejects with `LogicalError` if a keyring exists. */
  async initialize(rootKey: Buffer): Promise<void> {
    const record = this.#wrap(rootKey, Keyring.create(this.#random, this.#clock.now()))
    await this.#store.write((tx) => {
      if (tx.get(KEYS.keyring) !== undefined)
        throw new LogicalError('invalid-request', 'the barrier is already initialized')
      tx.put(KEYS.keyring, record)
    })
  }

  /** Decrypts the keyring. Throws `LogicalError` `invalid-request` and changes nothing if the root key is wrong. */
  unseal(rootKey: Buffer): void {
    this.#unsealed = { rootKey: Buffer.from(rootKey), keyring: this.#readKeyring(rootKey) }
    this.#forgetDerived()
  }

  seal(): void {
    this.#unsealed?.rootKey.fill(0)
    this.#unsealed = undefined
    this.#forgetDerived()
  }

  /** Returns true if the root key decrypts the stored keyring. Works while the barrier is sealed. */
  isRootKey(rootKey: Buffer): boolean {
    const stored = this.#store.get(KEYS.keyring)
    return stored !== undefined && openWithRoot(rootKey, KEYS.keyring, stored) !== undefined
  }

  /** Adds an encryption key for all new values. Old values stay readable. Resolves to the term of the new key. */
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

  /** Returns true if the key has a value. Nothing is decrypted. */
  has(key: string): boolean {
    if (!isPlainKey(key)) this.#requireUnsealed()
    return this.#store.has(key)
  }

  /** Runs `fn` in a transaction like `Store.write`. `fn` uses decrypted values and keys relative to `prefix`. */
  write<T>(fn: (tx: Transaction) => T, prefix = ''): Promise<Written<T>> {
    return this.#store.write((tx) =>
      fn({
        get: (key) => this.#openIn(tx, prefix + key),
        put: (key, value) => tx.put(prefix + key, this.#toStored(prefix + key, value)),
        delete: (key) => tx.delete(prefix + key),
      }),
    )
  }

  /** Returns the committed keys below the prefix of `scan`, in order. */
  scanKeys(scan: KeyScan): AsyncIterable<readonly string[]> {
    this.#requireUnsealed()
    return this.#store.scanKeys(scan)
  }

  /** Returns a storage that is limited to the keys below `prefix`. */
  view(prefix: string): Storage {
    return new StorageView(this, prefix)
  }

  /**
   * Derives a secret of 32 bytes for one purpose. The secret is equal on all clusters that share this keyring. A
   * rotation does not change the secret.
   */
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
    // After a rotation on another cluster, a new value can be readable before this barrier reloads the changed keyring.
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
    this.#encryptions.total++
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
    if (plain === undefined) throw new LogicalError('invalid-request', 'the root key does not decrypt the keyring')
    return Keyring.parse(plain)
  }

  /**
   * Reloads the stored keyring. If the root key does not decrypt the keyring, the keyring belongs to another
   * replication set, and the barrier seals itself.
   */
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

  /** Drops the derived secrets and the decrypted values, because the keyring has changed or the barrier is sealed. */
  #forgetDerived(): void {
    this.#derived.clear()
    this.#opened.clear()
  }

  #requireUnsealed(): Unsealed {
    if (this.#unsealed === undefined) throw sealed()
    return this.#unsealed
  }
}
