import { invalid, permissionDenied } from '../../logical/errors.js'
import type { ReadStorage } from '../../logical/storage.js'
import type { TokenRequest } from '../../logical/token-request.js'
import { answerOf, type IssuedToken } from './token-answer.js'
import { newTokenId } from './token-format.js'
import type { PresentedTokens } from './presented-tokens.js'
import { decideLife, type LeaseTtls, makeRecord } from './token-issue.js'
import type { TokenStoreOptions } from './token-options.js'
import { hasEnded, TOKEN_KEYS, type TokenEntry } from './token-record.js'
import type { TokenTable } from './token-table.js'

/** Creates tokens from requests: batch tokens without storage, service tokens with all their keys in one transaction. */
export class TokenMaker {
  readonly #options: Pick<TokenStoreOptions, 'clock' | 'random' | 'identity' | 'onIssued'>
  readonly #table: TokenTable
  readonly #forms: PresentedTokens
  readonly #onMade: (endMs: number) => void

  /** `onMade` is called with the expiry of each stored token. */
  constructor(parts: {
    options: Pick<TokenStoreOptions, 'clock' | 'random' | 'identity' | 'onIssued'>
    table: TokenTable
    forms: PresentedTokens
    onMade: (endMs: number) => void
  }) {
    this.#options = parts.options
    this.#table = parts.table
    this.#forms = parts.forms
    this.#onMade = parts.onMade
  }

  async issue(request: TokenRequest, mount: LeaseTtls): Promise<IssuedToken> {
    const nowMs = this.#options.clock.now()
    const { ttlSeconds, warnings } = decideLife(request, mount, nowMs)
    const entry =
      request.type === 'batch'
        ? this.#forms.makeBatch(
            makeRecord(request, { id: '', accessor: '', isIndexed: false }, ttlSeconds, nowMs),
            request.namespace,
          )
        : await this.store(request, ttlSeconds)
    this.#options.onIssued?.(entry)
    const identityPolicies = this.#options.identity.policiesOf(entry)
    return { auth: answerOf(entry, this.#forms.present(entry), ttlSeconds, identityPolicies), warnings: [...warnings] }
  }

  /**
   * Stores a service token; `records` go into its cubbyhole. Throws 400 if a custom ID is taken, 403 if the parent has ended
   * in the meantime.
   */
  async store(
    request: TokenRequest,
    ttlSeconds: number,
    records: Readonly<Record<string, Buffer>> = {},
  ): Promise<TokenEntry> {
    const { random, clock } = this.#options
    const { id: namespaceId } = request.namespace
    const suffix = namespaceId === 'root' ? '' : `.${namespaceId}`
    const id = request.id === undefined ? newTokenId(random, namespaceId) : request.id + suffix
    const nowMs = clock.now()
    // A custom ID may be reused. If its accessor were derived from the ID, the next token would have the same one.
    const isIndexed = request.id !== undefined
    const recordOf = (accessor: string) => makeRecord(request, { id, accessor, isIndexed }, ttlSeconds, nowMs)
    const entry = await this.#table.storage.write((tx) => {
      if (isIndexed && this.#table.isTaken(tx, id)) throw invalid('cannot create a token with a duplicate ID')
      if (request.parent !== '') this.#refuseEndedParent(request.parent, tx, nowMs)
      const added = this.#table.insert(tx, { id, isIndexed }, recordOf)
      for (const [name, value] of Object.entries(records)) tx.put(TOKEN_KEYS.cubbyhole(added.storageId) + name, value)
      return added
    })
    if (entry.expiresAtMs !== undefined) this.#onMade(entry.expiresAtMs)
    return entry
  }

  #refuseEndedParent(storageId: string, reader: ReadStorage, nowMs: number): void {
    const parent = this.#table.read(reader, storageId)
    if (!parent || parent.isClosing || hasEnded(parent, nowMs)) throw permissionDenied()
  }
}
