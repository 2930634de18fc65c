import { textOfJson } from '../../../base/json-print.js'
import { type ApiClient, ApiError } from '../../../client/api-client.js'
import type { LiveLab } from '../../live/live-lab.js'
import { LabError } from '../../model/lab-error.js'
import type { DrillContext } from '../context/drill-context.js'
import type { TokensResult } from '../context/result.js'
import { collectOnce, type StatusSample, writableClusters } from '../context/status-samples.js'
import { type Attempt, type ClientPlan, type LoadClient, startClient } from './client.js'

/** The number of clients of a drill and their behavior. `LOAD` in `drill-schema.ts` describes each field. */
export interface LoadPlan {
  readonly writers: number
  readonly logins: number
  readonly readers: number
  readonly tokens: number
  readonly at: readonly string[] | undefined
  readonly everyMs: number
  readonly patienceMs: number
  readonly readBackOn: string | undefined
}

const CLIENTS = [
  { kind: 'old-token', action: 'write', count: 'writers', name: 'writer' },
  { kind: 'new-login', action: 'write', count: 'logins', name: 'login' },
  { kind: 'reader', action: 'read', count: 'readers', name: 'reader' },
] as const

/** A write to a key that a cluster acknowledged. */
export type Write = Attempt & { readonly key: string }

/** The clients of a drill. They run from before its first step until after its last. */
export class Load {
  /** The results of client requests, in the order of completion. */
  readonly attempts: Attempt[] = []
  readonly #context: DrillContext
  readonly #plan: LoadPlan
  readonly #accounts: Accounts
  readonly #tokens: { readonly name: string; readonly home: string; readonly token: string }[] = []
  readonly #clients: LoadClient[] = []
  /** The most recently written key, for readers. */
  #lastKey: string | undefined
  #written = 0

  private constructor(context: DrillContext, plan: LoadPlan, accounts: Accounts) {
    this.#context = context
    this.#plan = plan
    this.#accounts = accounts
  }

  /** Creates the accounts and starts the clients. Resolves when each client has had one request accepted. */
  static async start(context: DrillContext, plan: LoadPlan): Promise<Load> {
    const load = new Load(context, plan, await makeAccounts(context, plan.at))
    try {
      await load.#begin()
      return load
    } catch (error) {
      await load.stop()
      throw error
    }
  }

  get acknowledged(): readonly Write[] {
    return this.attempts.filter((attempt): attempt is Write => attempt.isAccepted && attempt.key !== undefined)
  }

  /** The initial clusters of the clients. */
  get homes(): readonly string[] {
    return this.#accounts.homes
  }

  /** Whether the last request of every writer was accepted. */
  get isServed(): boolean {
    return this.#clients.every(({ isServed, kind }) => isServed || kind === 'reader')
  }

  async stop(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.stop()))
  }

  /** Tries each token on every cluster, its own first. A token survived if one cluster accepts it. */
  async checkTokens(): Promise<TokensResult | null> {
    const total = this.#tokens.length
    if (total === 0) return null
    const lost: { name: string; reason: string }[] = []
    for (const { name, home, token } of this.#tokens) {
      const reason = await this.#findRejection(token, home)
      if (reason !== undefined) lost.push({ name, reason })
    }
    return { survived: total - lost.length, total, lost }
  }

  async #findRejection(token: string, home: string): Promise<string | undefined> {
    const { lab } = this.#context
    const others = lab.clusters.map(({ name }) => name).filter((name) => name !== home)
    const reasons: string[] = []
    for (const name of [home, ...others]) {
      const client = lab.withToken(name, token).with({ timeoutMs: this.#plan.patienceMs })
      try {
        await client.read('auth/token/lookup-self')
        return undefined
      } catch (error) {
        const reason = error instanceof ApiError ? `${error.status} ${error.errors.join('; ')}` : 'no response'
        reasons.push(`${name}: ${reason}`)
      } finally {
        client.close()
      }
    }
    return reasons.join(', ')
  }

  async #begin(): Promise<void> {
    for (const [n, home] of this.#spread(this.#plan.tokens))
      this.#tokens.push({ name: `token-${n} of ${home}`, home, token: await this.#login(home) })
    const plans: ClientPlan[] = []
    for (const { kind, action, count, name } of CLIENTS)
      for (const [n, home] of this.#spread(this.#plan[count])) {
        const client = `${name}-${n}`
        const token = kind === 'new-login' ? undefined : await this.#login(home)
        const next = () => (action === 'write' ? this.#write(client, token) : this.#read(token))
        plans.push({ client, kind, action, home, next })
      }
    for (const plan of plans) this.#clients.push(startClient(this.#context, this.attempts, plan, this.#plan))
    await this.#context.wait('the requests of all clients to be accepted', async () =>
      this.#clients.every(({ isServed }) => isServed) ? undefined : 'no request of some clients was accepted',
    )
  }

  /** Numbers clients from 1, and distributes them over the initial clusters. */
  #spread(count: number): [number, string][] {
    const { homes } = this.#accounts
    return Array.from({ length: count }, (_, n) => [n + 1, homes[n % homes.length] ?? ''])
  }

  #login(cluster: string): Promise<string> {
    return login(this.#context.lab.anonymous(cluster), this.#accounts)
  }

  /**
   * Returns a write to a unique key, so that every write can be read back at the end. Without a token, it logs in
   * first.
   */
  #write(client: string, given: string | undefined) {
    const key = `${MOUNT}/${client}/${++this.#written}`
    const send = async (connection: ApiClient) => {
      const token = given ?? (await login(connection, this.#accounts))
      const answer = await connection.send('PUT', key, { token, body: { key } })
      if (answer.status < 300) this.#lastKey = key
      return answer
    }
    return { send, key }
  }

  #read(token = '') {
    const key = this.#lastKey
    return key === undefined ? undefined : { send: (connection: ApiClient) => connection.send('GET', key, { token }) }
  }
}

/** The mount, policy and AppRole of the load clients. They do not touch other data of the lab. */

const MOUNT = 'drill-load'
const AUTH = `auth/${MOUNT}`
const POLICY = `path "${MOUNT}/*" { capabilities = ["create", "read", "update"] }`
const TOKEN_TTL = '24h'

interface Accounts {
  readonly roleId: string
  readonly secretId: string
  /** Initial clusters of the clients: those that accepted a login and a write. */
  readonly homes: readonly string[]
}

/** Maximum time for the mount to replicate to a cluster. */
const ARRIVAL_MS = 10_000

/**
 * Creates the accounts on the primary, and waits until clients can use them on each initial cluster. `wanted`: the
 * initial clusters. Default: all writable clusters that receive the accounts. A path filter can exclude them. Rejects
 * with LabError `remote` if no cluster accepts the writes of clients.
 */
const makeAccounts = async (context: DrillContext, wanted: readonly string[] | undefined): Promise<Accounts> => {
  const { lab } = context
  const active = await findActive(lab)
  const root = await lab.root(findPrimary(active))
  await ensureMount(root, `sys/mounts/${MOUNT}`, { type: 'kv', options: { version: '1' } })
  await ensureMount(root, `sys/auth/${MOUNT}`, { type: 'approle' })
  await root.write(`sys/policies/acl/${MOUNT}`, { policy: POLICY })
  const role = `${AUTH}/role/client`
  await root.write(role, { token_policies: MOUNT, token_ttl: TOKEN_TTL, token_max_ttl: TOKEN_TTL })
  const roleId = textOf((await root.read(`${role}/role-id`)).data, 'role_id')
  const secretId = textOf((await root.write(`${role}/secret-id`)).data, 'secret_id')
  const homes: string[] = []
  for (const name of wanted ?? active.map((one) => one.name)) {
    const service = () => requireService(lab, name, { roleId, secretId })
    try {
      await context.wait(`a login and a write of a client on ${name} to be accepted`, service, ARRIVAL_MS)
      homes.push(name)
    } catch (error) {
      if (wanted || !(error instanceof LabError && error.code === 'timeout')) throw error
    }
  }
  if (homes.length === 0) throw new LabError('remote', 'no cluster of the lab accepts the writes of clients')
  return { roleId, secretId, homes }
}

type Credentials = Pick<Accounts, 'roleId' | 'secretId'>

const login = async (client: ApiClient, { roleId, secretId }: Credentials): Promise<string> => {
  const answer = await client.write(`${AUTH}/login`, { role_id: roleId, secret_id: secretId })
  return textOf(answer.auth, 'client_token')
}

/** Returns the clusters that serve clients now. */
export const findActive = async (lab: LiveLab): Promise<readonly StatusSample[]> => {
  await lab.followActiveNodes()
  return (await collectOnce(lab)).filter(({ health }) => health === 200)
}

/**
 * Returns the active cluster that does not forward its writes. If there are several, prefers `preferred`. Throws
 * LabError `remote` if there is none.
 */
export const findPrimary = (active: readonly StatusSample[], preferred?: string): string => {
  const primaries = writableClusters(active)
  const found = primaries.find((name) => name === preferred) ?? primaries[0]
  if (found === undefined) throw new LabError('remote', 'no cluster of the lab is a primary that serves clients')
  return found
}

/** Rejects if clients cannot log in to a cluster and write. */
const requireService = async (lab: LiveLab, name: string, credentials: Credentials): Promise<undefined> => {
  const client = lab.withToken(name, await login(lab.anonymous(name), credentials))
  try {
    await client.write(`${MOUNT}/arrival-${name}`, { name })
  } finally {
    client.close()
  }
}

/** Creates a mount, unless an earlier drill on the same lab has created it. */
const ensureMount = async (root: ApiClient, path: string, body: object): Promise<void> => {
  const [, table = '', name = ''] = path.split('/')
  const existing = await root.read(`sys/${table}`)
  if (existing[`${name}/`] === undefined) await root.write(path, body)
}

const textOf = (value: unknown, key: string): string =>
  textOfJson((value as Record<string, unknown> | null | undefined)?.[key] ?? '')
