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

/** Makes tokens of wishes: batch tokens out of nothing, service tokens with all their keys in one transaction. */
export class TokenMaker {
  readonly #options: Pick<TokenStoreOptions, 'clock' | 'random' | 'identity' | 'onIssued'>
  readonly #table: TokenTable
  readonly #forms: PresentedTokens
  readonly #onMade: (endMs: number) => void

  /** `onMade` is told when a token that was stored will end. */
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
   * Stores a service token; `records` go into its cubbyhole. Throws 400 when a chosen id is taken, 403 when the parent has
   * ended since it was found.
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
    // An accessor that follows from the id would be that of the next token with a chosen id as well.
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
