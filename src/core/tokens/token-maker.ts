import { invalid, permissionDenied } from '../../logical/errors.js'
import type { ReadStorage } from '../../logical/storage.js'
import type { IssuedToken, TokenRequest } from '../../logical/token-request.js'
import type { LeaseTtls } from '../../logical/ttl.js'
import { answerOf, newTokenId, suffixOf } from './token-format.js'
import type { PresentedTokens, TokenFormsOptions } from './presented-tokens.js'
import { decideLife, makeRecord } from './token-issue.js'
import { hasEnded, type StoredToken, TOKEN_KEYS, type TokenEntry } from './token-record.js'
import type { TokenTable, TokenTableOptions } from './token-table.js'
import type { Clock } from '../../base/clock.js'
import type { Log } from '../../base/log.js'
import type { RenewalCaller, RenewalTimes, TokenView } from '../../logical/request.js'
import type { IdentityStore } from '../identity/identity.js'
import type { LeaseOwner, LeaseStore } from '../leases/leases.js'

/** The error of Vault for a secret that the last use of a token has requested. */
const LAST_USE = 'Secret cannot be returned; token had one use left, so leased credentials were immediately revoked.'

interface TokenMakerOptions extends Pick<TokenStoreOptions, 'clock' | 'random' | 'identity' | 'onIssued'> {
  readonly table: TokenTable
  readonly forms: PresentedTokens
  /** Called with the expiry of each stored token that expires, in milliseconds since the epoch. */
  readonly onMade: (endMs: number) => void
}

/** Creates tokens. Batch tokens are not stored. Service tokens are stored with all their keys in one transaction. */
export class TokenMaker {
  readonly #options: TokenMakerOptions
  readonly #table: TokenTable

  constructor(options: TokenMakerOptions) {
    this.#options = options
    this.#table = options.table
  }

  async issue(request: TokenRequest, mount: LeaseTtls): Promise<IssuedToken> {
    const nowMs = this.#options.clock.now()
    const { ttlSeconds, warnings } = decideLife(request, mount, nowMs)
    const entry =
      request.type === 'batch'
        ? this.#options.forms.makeBatch(
            makeRecord(request, { id: '', accessor: '', isIndexed: false }, ttlSeconds, nowMs),
            request.namespace,
          )
        : await this.store(request, ttlSeconds)
    this.#options.onIssued?.(entry)
    const identityPolicies = this.#options.identity.policiesOf(entry)
    return {
      auth: answerOf(entry, this.#options.forms.present(entry), ttlSeconds, identityPolicies),
      warnings: [...warnings],
    }
  }

  /**
   * Stores a service token; `records` go into its cubbyhole. Rejects with LogicalError 400 if a custom ID is taken, and
   * 403 if the parent has expired or was revoked in the meantime.
   */
  async store(
    request: TokenRequest,
    ttlSeconds: number,
    records: Readonly<Record<string, Buffer>> = {},
  ): Promise<TokenEntry> {
    const { random, clock } = this.#options
    const { id: namespaceId } = request.namespace
    const id = request.id === undefined ? newTokenId(random, namespaceId) : request.id + suffixOf(namespaceId)
    const nowMs = clock.now()
    // A custom ID may be reused for another token. An accessor that is derived from the ID would then be the same for
    // both tokens.
    const isIndexed = request.id !== undefined
    const recordOf = (accessor: string) => makeRecord(request, { id, accessor, isIndexed }, ttlSeconds, nowMs)
    const entry = await this.#table.storage.write((tx) => {
      if (isIndexed && this.#table.isTaken(tx, id)) throw invalid('cannot create a token with a duplicate ID')
      if (request.parent !== '') this.#refuseEnded(request.parent, tx, nowMs)
      const added = this.#table.insert(tx, { id, isIndexed }, recordOf)
      for (const [name, value] of Object.entries(records)) tx.put(TOKEN_KEYS.cubbyhole(added.storageId) + name, value)
      return added
    })
    if (entry.expiresAtMs !== undefined) this.#options.onMade(entry.expiresAtMs)
    return entry
  }

  /**
   * Returns the owner of the leases that a token requests. The parent of a batch token owns the leases of the token,
   * which end with the batch token.
   */
  ownerOf({ type, storageId, parent, expiresAtMs }: TokenEntry): LeaseOwner {
    const id = type === 'batch' ? parent : storageId
    return {
      id,
      latestMs: type === 'batch' ? expiresAtMs : undefined,
      requireLive: (tx) => {
        if (id === '') return
        const record = this.#refuseEnded(id, tx, this.#options.clock.now())
        if (record.numUses < 0 && type === 'service') throw invalid(LAST_USE)
      },
    }
  }

  #refuseEnded(storageId: string, reader: ReadStorage, nowMs: number): StoredToken {
    const record = this.#table.read(reader, storageId)
    if (!record || record.isClosing || hasEnded(record, nowMs)) throw permissionDenied()
    return record
  }
}

/** The dependencies of the token store, and its queries to the rest of the core. */
export interface TokenStoreOptions extends TokenTableOptions, TokenFormsOptions {
  readonly clock: Clock
  readonly log: Log
  readonly identity: IdentityStore
  readonly leases: Pick<LeaseStore, 'endOwned'>
  /**
   * Returns whether the mount with this accessor exists at this path. The token of a login becomes invalid when its
   * mount is removed.
   */
  readonly isMounted: (accessor: string, namespaceId: string, path: string) => boolean
  /** Returns the lease TTLs of the mount at this path. */
  readonly leaseTtls: (namespaceId: string, path: string) => LeaseTtls
  readonly hasPolicy: (namespaceId: string, name: string) => boolean
  /** Returns whether the token has the sudo capability on a path of its namespace. */
  readonly hasSudo: (token: TokenView, path: string) => boolean
  /**
   * Asks the token's issuing backend for its current times. Rejects with LogicalError if the token may not be renewed.
   */
  readonly renewalTimes: (entry: TokenEntry, caller: RenewalCaller) => Promise<RenewalTimes> | RenewalTimes
  /** Called for each token issued by an auth method or created through auth/token. */
  readonly onIssued?: (entry: TokenEntry) => void
  /** Set on a secondary. Asks the primary to find or create the entity of an alias, and returns the entity ID. */
  readonly askEntity?: (alias: {
    readonly accessor: string
    readonly name: string
    readonly namespaceId: string
  }) => Promise<string>
}
