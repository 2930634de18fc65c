import { ManualClock } from './manual-clock.js'
import { silentLog } from '../../src/base/log.js'
import { createSeededRandom } from '../../src/base/random.js'
import { createTokenBackend } from '../../src/auth/token/backend.js'
import { IdentityStore } from '../../src/core/identity/identity.js'
import { PolicyStore } from '../../src/core/acl/policies.js'
import type { LoginFacts } from '../../src/core/tokens/token-issue.js'
import type { LeaseMount } from '../../src/core/leases/lease-revocation.js'
import { LeaseStore } from '../../src/core/leases/leases.js'
import { TokenTidy } from '../../src/core/tokens/token-tidy.js'
import { type TokenEntry, TokenStore } from '../../src/core/tokens/tokens.js'
import { deriveKey } from '../../src/crypto/digest.js'
import type { Backend } from '../../src/logical/backend.js'
import { decideWriteOperation, dispatch } from '../../src/logical/dispatch.js'
import type { JsonObject } from '../../src/logical/json.js'
import {
  type AuthAnswer,
  type LoginAuth,
  type RenewalTimes,
  type NamespaceRef,
  type Operation,
  type Response,
  ROOT_NAMESPACE,
} from '../../src/logical/request.js'
import { makeRequest } from './backend-harness.js'
import { MemoryStorage } from './memory-storage.js'

export const TEAM: NamespaceRef = { id: 'team1', path: 'team/' }
export const DEFAULT_TTL = 2_764_800

export interface TokenWorldOptions {
  readonly seed?: string
  readonly keyring?: string
  readonly storage?: MemoryStorage
  readonly clock?: ManualClock
}

/** The tokens of a cluster with policies, roles, entities, leases, and the endpoints of auth/token. */
export class TokenWorld {
  readonly clock: ManualClock
  /** `storage` is local to the cluster; `shared` is replicated. */
  readonly storage: MemoryStorage
  readonly shared = { policies: new MemoryStorage(), roles: new MemoryStorage(), identity: new MemoryStorage() }
  readonly policies = new PolicyStore({ storage: this.shared.policies })
  readonly identity: IdentityStore
  readonly namespaces = {
    all: () => [ROOT_NAMESPACE, TEAM].filter(({ id }) => !this.deletedNamespaces.has(id)),
    findById: (id: string) => this.namespaces.all().find((namespace) => namespace.id === id),
  }
  readonly leases: LeaseStore
  /** The mounts that issue leased secrets, by accessor. */
  readonly mounts = new Map<string, LeaseMount>()
  readonly tokens: TokenStore
  readonly tidy: TokenTidy
  readonly backend: Backend
  /** The times that auth methods return at a renewal, by login path. */
  readonly logins = new Map<string, () => RenewalTimes>()
  /** Accessors of removed mounts. */
  readonly unmounted = new Set<string>()
  readonly deletedNamespaces = new Set<string>()
  readonly mountTtls = { defaultLeaseTtlSeconds: DEFAULT_TTL, maxLeaseTtlSeconds: DEFAULT_TTL }
  /** True if a newer primary exists. */
  isFenced = false
  root = ''

  constructor(options: TokenWorldOptions = {}) {
    const random = createSeededRandom(options.seed ?? 'token-world')
    this.clock = options.clock ?? new ManualClock()
    this.storage = options.storage ?? new MemoryStorage()
    this.identity = new IdentityStore({ storage: this.shared.identity, random, clock: this.clock })
    this.leases = new LeaseStore({
      storage: this.storage,
      clock: this.clock,
      random,
      log: silentLog,
      findMount: (accessor) => this.mounts.get(accessor),
      isPaused: () => this.isFenced,
    })
    this.tokens = new TokenStore({
      storage: this.storage,
      leases: this.leases,
      deriveKey: (purpose) => deriveKey(Buffer.from(options.keyring ?? 'keyring'), purpose),
      clock: this.clock,
      random,
      log: silentLog,
      identity: this.identity,
      findNamespace: (id) => this.namespaces.findById(id),
      isMounted: (accessor) => !this.unmounted.has(accessor),
      leaseTtls: () => this.mountTtls,
      hasPolicy: (namespaceId, name) => this.policies.find(namespaceId, name) !== undefined,
      hasSudo: (token, path) => {
        const able = this.policies.aclFor(token.policies, token.namespace, undefined).capabilities(path)
        return able.includes('root') || able.includes('sudo')
      },
      renewalTimes: (entry) => this.#renewalTimes(entry),
    })
    this.storage.onChange((key) => this.tokens.invalidate(key))
    this.shared.policies.onChange((key) => this.policies.invalidate(key))
    this.shared.identity.onChange((key) => this.identity.invalidate(key))
    this.tidy = new TokenTidy({
      tokens: this.tokens,
      leases: this.leases,
      namespaces: this.namespaces,
      log: silentLog,
    })
    this.backend = createTokenBackend({
      authority: this.tokens,
      roles: this.shared.roles,
      clock: this.clock,
      beginTidy: () => this.tidy.begin(),
      mountOf: () => ({ accessor: 'auth_token_1', maxLeaseTtlSeconds: DEFAULT_TTL }),
    })
  }

  /** Creates a world with the built-in policies and a root token. */
  static async open(options: TokenWorldOptions = {}): Promise<TokenWorld> {
    const world = new TokenWorld(options)
    await world.policies.ensureDefaults('root')
    await world.policies.ensureDefaults(TEAM.id)
    world.root = (await world.tokens.createRoot()).id
    return world
  }

  /** Calls an endpoint of auth/token with this token, without a check of its permissions. */
  async call(
    operation: Operation,
    path: string,
    options: { as?: string; body?: JsonObject; namespace?: NamespaceRef } = {},
  ): Promise<Response | undefined> {
    const { as = this.root, body = {}, namespace = ROOT_NAMESPACE } = options
    const token = this.tokens.find(as)
    const request = makeRequest(operation, `auth/token/${path}`, body, {
      clientToken: as,
      namespace,
      ...(token ? { token } : {}),
    })
    if (operation === 'update') request.operation = decideWriteOperation(this.backend, request, path)
    return dispatch(this.backend, request, path)
  }

  /** Creates a token, by default at auth/token/create. Returns `auth` and the warnings of the response. */
  async create(body: JsonObject = {}, options: { as?: string; path?: string; namespace?: NamespaceRef } = {}) {
    const response = await this.call('update', options.path ?? 'create', { ...options, body })
    return { ...authOf(response), warnings: response?.warnings ?? [] }
  }

  async lookup(token: string): Promise<Record<string, unknown>> {
    const response = await this.call('update', 'lookup', { body: { token } })
    return response?.data as Record<string, unknown>
  }

  /** Returns the valid token that a client presents. Throws if there is none. */
  entry(presented: string): TokenEntry {
    const entry = this.tokens.find(presented)
    if (!entry) throw new Error('no such token')
    return entry
  }

  login(login: Partial<LoginAuth> = {}, mount: Partial<LoginFacts['mount']> = {}, namespace = ROOT_NAMESPACE) {
    return this.tokens.issueLogin({
      login: { ...PLAIN_LOGIN, ...login },
      mount: {
        path: 'auth/approle/',
        accessor: 'auth_approle_1',
        view: { ...this.mountTtls, isLocal: false },
        tokenType: 'default-service',
        ...mount,
      },
      namespace,
      path: 'auth/approle/login',
    })
  }

  /** Returns the number of storage keys of all tokens, without the salt. */
  async keyCount(): Promise<number> {
    const keys = await Promise.all(
      ['sys/token/', 'sys/expire/', 'cubbyhole/'].map((prefix) => this.storage.keys(prefix)),
    )
    return keys.flat().filter((key) => key !== 'sys/token/salt').length
  }

  #renewalTimes(entry: TokenEntry): RenewalTimes {
    const { origin } = entry
    if (!origin) throw new Error('the token came from no login')
    if (entry.role !== '') return this.backend.renew?.(origin, {}) as RenewalTimes
    return this.logins.get(entry.path)?.() ?? {}
  }
}

export const authOf = (response: Response | undefined): AuthAnswer => {
  if (!response?.auth) throw new Error('the answer has no auth')
  return response.auth
}

export const PLAIN_LOGIN: LoginAuth = {
  displayName: '',
  policies: ['default'],
  metadata: { role_name: 'r' },
  alias: { name: 'role-id-1', metadata: { role_name: 'r' } },
  tokenType: 'default',
  ttlSeconds: 0,
  maxTtlSeconds: 0,
  explicitMaxTtlSeconds: 0,
  periodSeconds: 0,
  numUses: 0,
  boundCidrs: [],
  noDefaultPolicy: false,
  internal: {},
}
