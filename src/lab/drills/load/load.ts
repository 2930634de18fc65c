import { ApiError, type ApiClient } from '../../../client/api-client.js'
import type { TokensResult } from '../context/result.js'
import type { DrillContext } from '../context/drill-context.js'
import { type Accounts, login, makeAccounts, MOUNT } from './accounts.js'
import { type Attempt, type ClientPlan, type LoadClient, startClient } from './client.js'

/** The clients of a drill, and how they behave. */
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

  /** Creates what the clients need and starts them. Resolves when each client has had one request accepted. */
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
      const reason = await this.#findDeath(token, home)
      if (reason !== undefined) lost.push({ name, reason })
    }
    return { survived: total - lost.length, total, lost }
  }

  async #findDeath(token: string, home: string): Promise<string | undefined> {
    const { lab } = this.#context
    const others = lab.clusters.map(({ name }) => name).filter((name) => name !== home)
    const reasons: string[] = []
    for (const name of [home, ...others]) {
      const client = lab.withToken(name, token).with({ timeoutMs: this.#plan.patienceMs })
      try {
        await client.read('auth/token/lookup-self')
        return undefined
      } catch (error) {
        const reason = error instanceof ApiError ? `${error.status} ${error.errors.join('; ')}` : 'no answer'
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
    await this.#context.wait('clients to be served', async () =>
      this.#clients.every(({ isServed }) => isServed) ? undefined : 'some are not',
    )
  }

  /** Returns the numbers of clients from 1 on, each with its initial cluster. */
  #spread(count: number): [number, string][] {
    const { homes } = this.#accounts
    return Array.from({ length: count }, (_, n) => [n + 1, homes[n % homes.length] ?? ''])
  }

  #login(cluster: string): Promise<string> {
    return login(this.#context.lab.anonymous(cluster), this.#accounts)
  }

  /** Returns a write to a unique key, so that every write can be read back at the end. Without a token, it logs in first. */
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
