import { lifeMs } from '../../base/duration.js'
import { invalid, isReadOnly, permissionDenied } from '../../logical/errors.js'
import type { NamespaceRef, TokenView } from '../../logical/request.js'
import { asFolder } from '../../logical/storage.js'
import type { IssuedToken, Renewal, TokenRequest } from '../../logical/token-request.js'
import type { ReportedAlias } from '../identity/primary-entities.js'
import { answerOf } from './token-format.js'
import { PresentedTokens } from './presented-tokens.js'
import { type LoginFacts, loginTokenRequest, ROOT_TOKEN_REQUEST, WRAPPING_TOKEN_REQUEST } from './token-issue.js'
import { TokenMaker, type TokenStoreOptions } from './token-maker.js'
import { listLeases } from './token-leases.js'
import { hasEnded, type TokenEntry } from './token-record.js'
import { checkRenewable, decideRenewal, renewed } from './token-renewal.js'
import { TokenRevocation } from './token-revocation.js'
import { TokenTable } from './token-table.js'
import type { DueSweep } from '../leases/due-sweep.js'
import type { LeaseOwner } from '../leases/leases.js'

export type { TokenStoreOptions } from './token-maker.js'
export type { TokenEntry } from './token-record.js'

/**
 * The maximum time for a request that consumed the last use of a token. After this time the sweep removes the token.
 */
const LAST_USE_GRACE_MS = 120_000

/**
 * The tokens of this cluster: create, find, count uses, renew, revoke. A token is valid if its record exists, it has
 * not expired, its namespace and issuing mount exist, and the same holds for all its ancestors. Writes are durable when
 * the promise resolves.
 */
export class TokenStore {
  readonly #options: TokenStoreOptions
  readonly #table: TokenTable
  readonly #revocation: TokenRevocation
  readonly #sweep: DueSweep
  readonly #forms: PresentedTokens
  readonly #maker: TokenMaker

  constructor(options: TokenStoreOptions) {
    this.#options = options
    const { clock, log, storage } = options
    const table = new TokenTable(options)
    this.#table = table
    this.#forms = new PresentedTokens(options, table)
    this.#revocation = new TokenRevocation(table, options.leases)
    this.#sweep = this.#revocation.createSweep({ storage, clock, log })
    const onMade = (endMs: number) => this.#sweep.noteDue(endMs)
    this.#maker = new TokenMaker({ ...options, table, forms: this.#forms, onMade })
  }

  /** Returns the live token that a client presents; undefined if unknown, tampered with, expired or revoked. */
  find(presented: string): TokenEntry | undefined {
    const form = this.#forms.resolve(presented)
    return typeof form === 'string' ? this.findStored(form) : this.#ifAlive(form)
  }

  /** Returns the log index that must be applied before an unknown token counts as nonexistent; 0 for a known token. */
  awaitedIndex(presented: string): number {
    return this.#forms.awaitedIndex(presented)
  }

  findByAccessor(accessor: string): TokenEntry | undefined {
    return this.#ifAlive(this.#table.findByAccessor(accessor))
  }

  findStored(storageId: string): TokenEntry | undefined {
    return this.#ifAlive(this.#table.find(storageId))
  }

  listAccessors(namespaceId: string): Promise<string[]> {
    return this.#table.accessors(namespaceId)
  }

  /** Returns the number of service tokens in all namespaces, including expired ones that are not removed yet. */
  count(): Promise<number> {
    return this.#table.count()
  }

  /** Returns the token as shown to clients: in long form, except for root tokens and custom IDs. */
  present(entry: Pick<TokenEntry, 'id' | 'isRoot' | 'type'>): string {
    return this.#forms.present(entry)
  }

  /**
   * Returns the name of the token's folder below `cubbyhole/`, which is deleted with the token. Throws LogicalError 403
   * if the token no longer exists.
   */
  storageIdOf(token: TokenView): string {
    const entry = this.#table.findById(token.id)
    if (!entry) throw permissionDenied()
    return entry.storageId
  }

  hasPolicy(namespaceId: string, name: string): boolean {
    return this.#options.hasPolicy(namespaceId, name)
  }

  /** Returns the policies that the token's entity adds. */
  identityPoliciesOf(token: TokenView): string[] {
    return this.#options.identity.policiesOf(token)
  }

  hasSudo(token: TokenView, path: string): boolean {
    return this.#options.hasSudo(token, path)
  }

  /**
   * Consumes one use of a token. `free`: the token has unlimited uses. `more`: the token has further uses. `last`: this
   * was the last use, and the caller must call `revokeTree` after the request. `spent`: no use was left, and the caller
   * must reject the request.
   */
  async use(entry: TokenEntry): Promise<'free' | 'more' | 'last' | 'spent'> {
    if (entry.type === 'batch' || entry.numUses === 0) return 'free'
    if (entry.numUses < 0) return 'spent'
    const { storageId } = entry
    const sweepAtMs = this.#options.clock.now() + LAST_USE_GRACE_MS
    return this.#table.storage.write((tx) => {
      const record = this.#table.read(tx, storageId)
      if (!record || record.numUses < 0) return 'spent'
      const isLast = record.numUses === 1
      // If the server crashes before the token is removed, the sweep removes it.
      const after = isLast ? { ...record, numUses: -1, sweepAtMs } : { ...record, numUses: record.numUses - 1 }
      this.#table.replace(tx, storageId, record, after)
      return isLast ? 'last' : 'more'
    })
  }

  /**
   * Issues the token of a login, and finds or creates its entity if it has an alias. Rejects with LogicalError 400 for
   * an invalid login, and `read-only` if the entity is new and replicated data is not writable.
   */
  async issueLogin(facts: LoginFacts): Promise<IssuedToken> {
    // Invalid logins are rejected before anything is created.
    const request = loginTokenRequest(facts)
    const known = facts.entityId === undefined ? { ...request, entityId: await this.loginEntityId(facts) } : request
    return this.#maker.issue(known, facts.mount.view)
  }

  /**
   * Returns the entity ID of a login; empty without an alias. Local mounts have no entities, since these are
   * replicated.
   */
  async loginEntityId({ login, mount, namespace }: Omit<LoginFacts, 'path' | 'entityId'>): Promise<string> {
    if (!login.alias || mount.view.isLocal) return ''
    const { name, metadata, groups } = login.alias
    const query = { name, metadata, groups, mountAccessor: mount.accessor, namespaceId: namespace.id }
    return (await this.#options.identity.findOrCreate(query)).id
  }

  /** Returns the entity ID of an alias, for tokens with a role and an alias, and for logins on other clusters. */
  async aliasEntityId(mountAccessor: string, name: string, namespaceId: string, reported?: ReportedAlias) {
    const { identity, askEntity } = this.#options
    try {
      return (await identity.findOrCreate({ metadata: {}, ...reported, mountAccessor, name, namespaceId })).id
    } catch (error) {
      if (!askEntity || !isReadOnly(error)) throw error
      return askEntity({ accessor: mountAccessor, name, namespaceId })
    }
  }

  /**
   * Creates a token that auth/token has authorized. Rejects with LogicalError 400 if a token with the requested ID
   * exists.
   */
  create(request: TokenRequest): Promise<IssuedToken> {
    return this.#maker.issue(request, this.#options.leaseTtls(request.namespace.id, request.path))
  }

  /** Creates a root token without expiry, always in the short form of 28 characters. A custom ID is used as given. */
  async createRoot(chosenId?: string): Promise<{ id: string; accessor: string }> {
    const { id, accessor } = await this.#maker.store(
      chosenId ? { ...ROOT_TOKEN_REQUEST, id: chosenId } : ROOT_TOKEN_REQUEST,
      0,
    )
    return { id, accessor }
  }

  /**
   * Issues a single-use token that can only be unwrapped. `records` are stored in its cubbyhole in the same
   * transaction.
   */
  async issueWrapping(options: {
    /** A custom ID, for callers with another representation of the token. */
    readonly id?: string | undefined
    readonly ttlSeconds: number
    readonly creationPath: string
    readonly namespace: NamespaceRef
    readonly records: Readonly<Record<string, Buffer>>
  }): Promise<TokenEntry> {
    const { id, ttlSeconds, creationPath: path, namespace, records } = options
    const life = { ttlSeconds, explicitMaxTtlSeconds: ttlSeconds }
    const request = { ...WRAPPING_TOKEN_REQUEST, ...(id !== undefined && { id }), ...life, path, namespace }
    return this.#maker.store(request, ttlSeconds, records)
  }

  /**
   * Renews a token. Rejects with LogicalError 400 if the token cannot be renewed or no longer exists. The response
   * contains `presented` as the token.
   */
  async renew(entry: TokenEntry, options: Renewal): Promise<IssuedToken> {
    checkRenewable(entry)
    const { clock, leaseTtls, renewalTimes } = this.#options
    const current = entry.origin && (await renewalTimes(entry, options.request))
    const mount = leaseTtls(entry.namespace.id, entry.path)
    const nowMs = clock.now()
    const { incrementSeconds } = options
    const { ttlSeconds, warnings } = decideRenewal({ entry, current, incrementSeconds, mount, nowMs })
    await this.#table.storage.write((tx) => {
      const record = this.#table.read(tx, entry.storageId)
      // If the token ended while the backend was called, the renewal must not make it valid again.
      if (!record || hasEnded(record, nowMs)) throw invalid('token not found')
      this.#table.replace(tx, entry.storageId, record, renewed(record, ttlSeconds, nowMs))
    })
    this.#sweep.noteDue(nowMs + lifeMs(ttlSeconds))
    return {
      auth: answerOf(entry, options.presented, ttlSeconds, this.identityPoliciesOf(entry)),
      warnings: [...warnings],
    }
  }

  /** Returns the owner of the leases that a token requests. Throws LogicalError 403 if the token no longer exists. */
  ownerOf(token: TokenView): LeaseOwner {
    const entry = token.type === 'batch' ? this.find(token.id) : this.#table.findById(token.id)
    if (!entry) throw permissionDenied()
    return this.#maker.ownerOf(entry)
  }

  /** Revokes the token, its children, and their cubbyholes and leases. Does nothing for a batch token. */
  async revokeTree(entry: TokenEntry): Promise<void> {
    if (entry.type === 'service') await this.#revocation.revokeTree(entry.storageId)
  }

  /** Revokes only the token; its children become orphans. */
  async revokeAndOrphan(entry: TokenEntry): Promise<void> {
    if (entry.type === 'service') await this.#revocation.revokeAndOrphan(entry)
  }

  /** Revokes all tokens created at a path below `prefix`. An empty prefix means the whole namespace. */
  async revokeByPathPrefix(namespaceId: string, prefix: string): Promise<void> {
    const below = prefix === '' ? '' : `${prefix.replace(/\/+$/, '')}/`
    await this.#revocation.revokeLeases(namespaceId, below)
  }

  /**
   * Removes tokens below `prefix` that have expired, or whose mount or namespace no longer exists. Live tokens stay.
   */
  async removeStray(namespaceId: string, prefix: string): Promise<void> {
    const isStray = (storageId: string) => this.findStored(storageId) === undefined
    await this.#revocation.revokeLeases(namespaceId, prefix, isStray)
  }

  /** Returns the names directly below `prefix`: storage IDs, and folders with a trailing slash. */
  listLeases(namespaceId: string, prefix: string): Promise<string[]> {
    return listLeases(this.#options.storage, namespaceId, asFolder(prefix.replace(/\/+$/, '')))
  }

  /** Discards cached data of a changed key of the barrier. */
  invalidate(key: string): void {
    if (this.#table.invalidate(key)) this.#forms.clear()
  }

  /** Removes expired tokens in the background until the signal is aborted. */
  start(signal: AbortSignal): void {
    this.#sweep.start(signal)
  }

  sweep(): Promise<void> {
    return this.#sweep.run()
  }

  /**
   * Returns the entry if the token and all its ancestors are valid: not expired, and with an existing mount and
   * namespace.
   */
  #ifAlive(entry: TokenEntry | undefined): TokenEntry | undefined {
    const nowMs = this.#options.clock.now()
    for (let at = entry; at !== undefined; at = this.#table.find(at.parent)) {
      if (at.expiresAtMs !== undefined && at.expiresAtMs <= nowMs) return undefined
      if (!this.#hasOrigin(at)) return undefined
      if (at.parent === '') return entry
    }
    return undefined
  }

  /**
   * Returns false if the namespace of the token or the mount that issued it no longer exists. Another cluster may have
   * removed them.
   */
  #hasOrigin({ namespace, mountAccessor, path }: TokenEntry): boolean {
    const { findNamespace, isMounted } = this.#options
    if (!findNamespace(namespace.id)) return false
    return mountAccessor === '' || isMounted(mountAccessor, namespace.id, path)
  }
}
