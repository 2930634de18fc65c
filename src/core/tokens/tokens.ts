import { lifeMs } from '../../base/duration.js'
import { invalid, LogicalError, permissionDenied } from '../../logical/errors.js'
import type { LoginAuth, NamespaceRef, TokenView } from '../../logical/request.js'
import type { TokenRequest } from '../../logical/token-request.js'
import { answerOf, type IssuedToken } from './token-answer.js'
import { PresentedTokens } from './presented-tokens.js'
import { type LoginMount, loginTokenRequest, ROOT_TOKEN_REQUEST, WRAPPING_TOKEN_REQUEST } from './token-issue.js'
import { TokenMaker } from './token-maker.js'
import type { TokenStoreOptions } from './token-options.js'
import { TokenLeases } from './token-leases.js'
import { hasEnded, type TokenEntry } from './token-record.js'
import { checkRenewable, decideRenewal, renewed } from './token-renewal.js'
import { TokenRevocation } from './token-revocation.js'
import { TokenSweep } from './token-sweep.js'
import { TokenTable } from './token-table.js'

export type { LoginMount } from './token-issue.js'
export type { TokenStoreOptions } from './token-options.js'
export type { TokenEntry } from './token-record.js'

/** How long a request that took a token's last use may take before the sweep removes the token in its place. */
const LAST_USE_GRACE_MS = 120_000

/**
 * The tokens of this cluster: making, finding, counting uses, renewing, ending. A token is good when its record is there,
 * its end has not come, its namespace and the mount that issued it are there, and the same holds for all it descends from. Writes are durable when they are answered.
 */
export class TokenStore {
  readonly #options: TokenStoreOptions
  readonly #table: TokenTable
  readonly #revocation: TokenRevocation
  readonly #sweep: TokenSweep
  readonly #forms: PresentedTokens
  readonly #leases: TokenLeases
  readonly #maker: TokenMaker

  constructor(options: TokenStoreOptions) {
    this.#options = options
    const { clock, log } = options
    const table = new TokenTable(options)
    this.#table = table
    this.#forms = new PresentedTokens(options, table)
    this.#leases = new TokenLeases(options.storage)
    this.#revocation = new TokenRevocation(table)
    const sweep = new TokenSweep({ table, revocation: this.#revocation, clock, log })
    this.#sweep = sweep
    this.#maker = new TokenMaker({ options, table, forms: this.#forms, onMade: (endMs) => sweep.noteEnd(endMs) })
  }

  /** The live token of what a client presents; undefined when unknown, tampered with, ended or revoked. */
  find(presented: string): TokenEntry | undefined {
    const form = this.#forms.resolve(presented)
    return typeof form === 'string' ? this.findStored(form) : this.#ifAlive(form)
  }

  /** How far the log must be applied here before it means anything that the token is unknown; 0 for one that is known. */
  awaitedIndex(presented: string): number {
    return this.#forms.awaitedIndex(presented)
  }

  findByAccessor(accessor: string): TokenEntry | undefined {
    return this.#ifAlive(this.#table.findByAccessor(accessor))
  }

  findStored(storageId: string): TokenEntry | undefined {
    return this.#ifAlive(this.#table.find(storageId))
  }

  /** The accessors of the namespace's service tokens. */
  listAccessors(namespaceId: string): Promise<string[]> {
    return this.#table.accessors(namespaceId)
  }

  /** How many service tokens there are, in all namespaces; some may have ended and not be removed yet. */
  count(): Promise<number> {
    return this.#table.count()
  }

  /** The form of a token that a client gets to see: the long form, but for root tokens and chosen ids. */
  present(entry: Pick<TokenEntry, 'id' | 'isRoot' | 'type'>): string {
    return this.#forms.present(entry)
  }

  /** The name of the token's own folder below `cubbyhole/`, which goes with the token. Throws 403 for one that is gone. */
  storageIdOf(token: TokenView): string {
    const entry = this.#table.findById(token.id)
    if (!entry) throw permissionDenied()
    return entry.storageId
  }

  hasPolicy(namespaceId: string, name: string): boolean {
    return this.#options.hasPolicy(namespaceId, name)
  }

  /** The policies that the entity behind the token adds to those of the token. */
  identityPoliciesOf(token: TokenView): string[] {
    return this.#options.identity.policiesOf(token)
  }

  hasSudo(token: TokenView, path: string): boolean {
    return this.#options.hasSudo(token, path)
  }

  /**
   * Takes one use. `last`: it was the last one, and `finishLastUse` must follow the request; `spent`: there was none, and
   * the request is to be refused; `free`: uses are not counted.
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
      // A crash before the token is removed leaves it to the sweep.
      const after = isLast ? { ...record, numUses: -1, sweepAtMs } : { ...record, numUses: record.numUses - 1 }
      this.#table.replace(tx, storageId, record, after)
      return isLast ? 'last' : 'more'
    })
  }

  finishLastUse(entry: TokenEntry): Promise<void> {
    return this.revokeTree(entry)
  }

  /** The token of a login, and the entity behind it if it has an alias. Throws 400, or `read-only` for a new entity. */
  async issueLogin(options: {
    readonly login: LoginAuth
    readonly mount: LoginMount
    readonly namespace: NamespaceRef
    /** The path of the request: `auth/approle/login`. */
    readonly path: string
    /** The id of the entity, where another cluster has found or made it. */
    readonly entityId?: string
  }): Promise<IssuedToken> {
    // A login that is wrong is refused before anything is made.
    const { login, mount, namespace, path, entityId } = options
    const request = loginTokenRequest(login, { mount, namespace, path, entityId: entityId ?? '' })
    const known = entityId === undefined ? { ...request, entityId: await this.loginEntityId(options) } : request
    return this.#maker.issue(known, mount.view)
  }

  /** The entity of a login; empty without an alias. Local mounts have none: entities are shared and they are not. */
  async loginEntityId(options: {
    readonly login: LoginAuth
    readonly mount: LoginMount
    readonly namespace: NamespaceRef
  }): Promise<string> {
    const { alias } = options.login
    if (!alias || options.mount.view.isLocal) return ''
    const { name, metadata } = alias
    const query = { name, metadata, mountAccessor: options.mount.accessor, namespaceId: options.namespace.id }
    return (await this.#options.identity.findOrCreate(query)).id
  }

  /** The entity of an alias on the mount with this accessor, for tokens that a role gives to somebody. */
  async aliasEntityId(mountAccessor: string, name: string, namespaceId: string): Promise<string> {
    const { identity, askEntity } = this.#options
    try {
      return (await identity.findOrCreate({ mountAccessor, name, metadata: {}, namespaceId })).id
    } catch (error) {
      if (!askEntity || !(error instanceof LogicalError && error.code === 'read-only')) throw error
      return askEntity({ accessor: mountAccessor, name, namespaceId })
    }
  }

  /** Makes what auth/token has found to be in order. Throws 400 for an id that is taken. */
  create(request: TokenRequest): Promise<IssuedToken> {
    return this.#maker.issue(request, this.#options.leaseTtls(request.namespace.id, request.path))
  }

  /** A root token without end, always in the short form of 28 characters; a chosen id is taken as it is. */
  async createRoot(chosenId?: string): Promise<{ id: string; accessor: string }> {
    const { id, accessor } = await this.#maker.store(
      chosenId ? { ...ROOT_TOKEN_REQUEST, id: chosenId } : ROOT_TOKEN_REQUEST,
      0,
    )
    return { id, accessor }
  }

  /** A token of one use that can only be unwrapped; `records` are put into its cubbyhole in the same transaction. */
  async issueWrapping(options: {
    /** Chosen by whoever has another name for the token. */
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

  /** Throws 400 when the token cannot be renewed (any more); `presented` is repeated in the answer. */
  async renew(entry: TokenEntry, options: { incrementSeconds: number; presented: string }): Promise<IssuedToken> {
    checkRenewable(entry)
    const { clock, leaseTtls, renewalTimes } = this.#options
    const current = entry.origin && (await renewalTimes(entry))
    const mount = leaseTtls(entry.namespace.id, entry.path)
    const nowMs = clock.now()
    const { incrementSeconds } = options
    const { ttlSeconds, warnings } = decideRenewal({ entry, current, incrementSeconds, mount, nowMs })
    await this.#table.storage.write((tx) => {
      const record = this.#table.read(tx, entry.storageId)
      // Ended while the backend was asked: a renewal wakes no dead.
      if (!record || hasEnded(record, nowMs)) throw invalid('token not found')
      this.#table.replace(tx, entry.storageId, record, renewed(record, ttlSeconds, nowMs))
    })
    this.#sweep.noteEnd(nowMs + lifeMs(ttlSeconds))
    return {
      auth: answerOf(entry, options.presented, ttlSeconds, this.identityPoliciesOf(entry)),
      warnings: [...warnings],
    }
  }

  /** Ends the token, all it created, their cubbyholes and leases. Nothing happens to a batch token. */
  async revokeTree(entry: TokenEntry): Promise<void> {
    if (entry.type === 'service') await this.#revocation.revokeTree(entry.storageId)
  }

  /** Ends the token alone; its children become orphans. */
  async revokeAndOrphan(entry: TokenEntry): Promise<void> {
    if (entry.type === 'service') await this.#revocation.revokeAndOrphan(entry)
  }

  /** Ends every token that was created at a path below `prefix`; an empty one means the whole namespace. */
  async revokeByPathPrefix(namespaceId: string, prefix: string): Promise<void> {
    const below = prefix === '' ? '' : `${prefix.replace(/\/+$/, '')}/`
    await this.#revocation.revokeLeases(namespaceId, below)
  }

  /** Removes what is left of tokens below `prefix` whose mount or namespace has left, or whose end has come; live ones stay. */
  async removeStray(namespaceId: string, prefix: string): Promise<void> {
    const isStray = (storageId: string) => this.findStored(storageId) === undefined
    await this.#revocation.revokeLeases(namespaceId, prefix, isStray)
  }

  /** The names below a folder of lease ids: leases, and folders that end with a slash. */
  listLeases(namespaceId: string, folder: string): Promise<string[]> {
    return this.#leases.list(namespaceId, folder)
  }

  /** This key of the barrier has changed. */
  invalidate(key: string): void {
    if (this.#table.invalidate(key)) this.#forms.clear()
  }

  /** Removes tokens in the background when their end has come, until the signal is aborted. */
  start(signal: AbortSignal): void {
    this.#sweep.start(signal)
  }

  /** Removes all tokens whose end has come. */
  sweep(): Promise<void> {
    return this.#sweep.run()
  }

  /** The entry when neither it nor anything it descends from has ended, or has lost its mount or namespace. */
  #ifAlive(entry: TokenEntry | undefined): TokenEntry | undefined {
    const nowMs = this.#options.clock.now()
    for (let at = entry; at !== undefined; at = this.#table.find(at.parent)) {
      if (at.expiresAtMs !== undefined && at.expiresAtMs <= nowMs) return undefined
      if (!this.#hasOrigin(at)) return undefined
      if (at.parent === '') return entry
    }
    return undefined
  }

  /** False once its namespace is deleted, or the mount that issued it has left: both may happen on another cluster. */
  #hasOrigin({ namespace, mountAccessor, path }: TokenEntry): boolean {
    const { findNamespace, isMounted } = this.#options
    if (!findNamespace(namespace.id)) return false
    return mountAccessor === '' || isMounted(mountAccessor, namespace.id, path)
  }
}
