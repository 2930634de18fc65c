import { ApiError, type ApiAnswer, type ApiClient } from '../../../client/api-client.js'
import type { TokensResult } from '../context/result.js'
import type { DrillContext } from '../context/drill-context.js'
import { type Accounts, login, makeAccounts, MOUNT } from './accounts.js'
import { LoadClient, type LoadClientOptions, type Send } from './client.js'
import { Ledger } from './ledger.js'

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

const KEPT_KEYS = 1000

interface HeldToken {
  readonly name: string
  readonly home: string
  readonly token: string
}

/** The clients of a drill. They run from before its first step until after its last. */
export class Load {
  readonly ledger = new Ledger()
  readonly #context: DrillContext
  readonly #plan: LoadPlan
  readonly #accounts: Accounts
  readonly #tokens: HeldToken[] = []
  readonly #clients: LoadClient[] = []
  /** The most recently written keys, for readers. */
  readonly #keys: string[] = []
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
    if (this.#tokens.length === 0) return null
    const lost: { name: string; reason: string }[] = []
    for (const held of this.#tokens) {
      const reason = await this.#findDeath(held)
      if (reason !== undefined) lost.push({ name: held.name, reason })
    }
    return { survived: this.#tokens.length - lost.length, total: this.#tokens.length, lost }
  }

  async #findDeath({ token, home }: HeldToken): Promise<string | undefined> {
    const { lab } = this.#context
    const others = lab.clusters.map(({ name }) => name).filter((name) => name !== home)
    const reasons: string[] = []
    for (const name of [home, ...others]) {
      const client = lab.withToken(name, token).with({ timeoutMs: this.#plan.patienceMs })
      try {
        await client.read('auth/token/lookup-self')
        return undefined
      } catch (error) {
        reasons.push(
          `${name}: ${error instanceof ApiError ? `${error.status} ${error.errors.join('; ')}` : 'no answer'}`,
        )
      } finally {
        client.close()
      }
    }
    return reasons.join(', ')
  }

  async #begin(): Promise<void> {
    const { writers, logins, readers, tokens } = this.#plan
    for (const [n, home] of this.#spread(tokens))
      this.#tokens.push({ name: `token-${n} of ${home}`, home, token: await this.#login(home) })
    for (const [n, home] of this.#spread(writers)) {
      const token = await this.#login(home)
      const next = () => this.#write(`writer-${n}`, async () => token)
      this.#add({ name: `writer-${n}`, kind: 'old-token', action: 'write', home, next })
    }
    for (const [n, home] of this.#spread(logins)) {
      const next = () => this.#write(`login-${n}`, (client) => login(client, this.#accounts))
      this.#add({ name: `login-${n}`, kind: 'new-login', action: 'write', home, next })
    }
    for (const [n, home] of this.#spread(readers)) {
      const token = await this.#login(home)
      this.#add({ name: `reader-${n}`, kind: 'reader', action: 'read', home, next: () => this.#read(token) })
    }
    for (const client of this.#clients) client.start()
    await this.#context.wait('clients to be served', async () =>
      this.#clients.every(({ isServed }) => isServed) ? undefined : 'some are not',
    )
  }

  #add(client: Pick<LoadClientOptions, 'name' | 'kind' | 'action' | 'home' | 'next'>): void {
    const { everyMs, patienceMs } = this.#plan
    const { lab } = this.#context
    const now = () => this.#context.now()
    this.#clients.push(new LoadClient({ ...client, lab, ledger: this.ledger, everyMs, patienceMs, now }))
  }

  /** Returns the numbers of clients from 1 on, each with its initial cluster. */
  #spread(count: number): [number, string][] {
    const { homes } = this.#accounts
    return Array.from({ length: count }, (_, n) => [n + 1, homes[n % homes.length] ?? ''])
  }

  #login(cluster: string): Promise<string> {
    return login(this.#context.lab.anonymous(cluster), this.#accounts)
  }

  /** Returns a write to a unique key, so that every write can be read back at the end. */
  #write(client: string, tokenFor: (connection: ApiClient) => Promise<string>): { send: Send; key: string } {
    const key = `${MOUNT}/${client}/${++this.#written}`
    const send = async (connection: ApiClient): Promise<ApiAnswer> => {
      const token = await tokenFor(connection)
      const answer = await connection.send('PUT', key, { token, body: { key } })
      if (answer.status < 300) this.#remember(key)
      return answer
    }
    return { send, key }
  }

  #remember(key: string): void {
    this.#keys.push(key)
    if (this.#keys.length > KEPT_KEYS) this.#keys.shift()
  }

  #read(token: string): { send: Send } | undefined {
    const key = this.#keys.at(-1)
    return key === undefined ? undefined : { send: (connection) => connection.send('GET', key, { token }) }
  }
}
