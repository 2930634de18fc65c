import { expect } from 'vitest'
import type { ApiAnswer, ApiClient } from '../../src/client/api-client.js'
import type { TestNode, TestNodes } from './nodes.js'
import { until } from './until.js'

/** Clients that write and log in during failovers, and checks of their responses. */

/** Writes keys through every node until it is stopped. Failed writes are not repeated. */
export class Writers {
  readonly acknowledged = new Set<string>()
  readonly #nodes: TestNodes
  readonly #running: Promise<void>[]
  #isOver = false

  constructor(nodes: TestNodes) {
    this.#nodes = nodes
    this.#running = nodes.all.map((node) => this.#write(node))
  }

  /** Resolves after 20 more acknowledged writes. */
  more(): Promise<void> {
    const before = this.acknowledged.size
    return until(() => this.acknowledged.size >= before + 20)
  }

  async stop(): Promise<void> {
    this.#isOver = true
    await Promise.all(this.#running)
  }

  async #write(node: TestNode): Promise<void> {
    const client = this.#nodes.clientOf(node)
    for (let turn = 0; !this.#isOver; turn++) {
      const key = `${node.name}-${turn}`
      const answer = await client.send('PUT', `kv/${key}`, { body: { value: key } }).catch(() => undefined)
      if (answer?.status === 204) this.acknowledged.add(key)
      else await until(() => node.isRunning || this.#isOver)
    }
  }
}

/** Checks that all acknowledged keys exist, and that the last ten have their values. */
export const expectAll = async (client: ApiClient, { acknowledged }: Writers): Promise<void> => {
  const { keys } = ((await client.send('LIST', 'kv/')).json?.data ?? {}) as { keys: string[] }
  const there = new Set(keys)
  expect([...acknowledged].filter((key) => !there.has(key))).toEqual([])
  for (const key of [...acknowledged].slice(-10)) {
    expect((await client.send('GET', `kv/${key}`)).json?.data).toEqual({ value: key })
  }
}

/** Kills and restarts three active nodes under load. Checks that no acknowledged write is lost. */
export const expectKillsSurvived = async <N extends TestNode>(nodes: TestNodes<N>): Promise<void> => {
  const writers = new Writers(nodes)
  for (let turn = 0; turn < 3; turn++) {
    await writers.more()
    const active = await nodes.active()
    await active.crash()
    await nodes.active()
    await writers.more()
    await active.start()
    await nodes.unseal(active)
  }
  await writers.stop()
  await expectAll(nodes.clientOf(await nodes.active()), writers)
}

/** Disables an active node without a crash, and enables it again. */
interface Obstruction<N> {
  block(active: N): void
  unblock(active: N): void
}

/**
 * Disables the active node until another node takes over. Checks that the former active node then catches up as a
 * standby.
 */
export const expectFailoverDuring = async <N extends TestNode>(
  nodes: TestNodes<N>,
  { block, unblock }: Obstruction<N>,
): Promise<void> => {
  const blocked = await nodes.active()
  block(blocked)
  const next = await nodes.active(nodes.without(blocked))
  await nodes.clientOf(next).call('PUT', 'kv/it', { body: { value: `without ${blocked.name}` } })
  unblock(blocked)
  await until(async () => [429, 473].includes(await blocked.health()))
  await expect
    .poll(async () => (await nodes.clientOf(blocked).send('GET', 'kv/it')).json?.data)
    .toEqual({ value: `without ${blocked.name}` })
}

const LOGIN = 'auth/approle/login'

/** Clients that log in at every node with a SecretID until its uses are spent. */
export class LimitedLogins {
  readonly #nodes: TestNodes
  readonly #uses: number
  readonly #body: object
  readonly #running: Promise<void>[]
  #done = 0
  #isSpent = false

  private constructor(nodes: TestNodes, uses: number, body: object) {
    this.#nodes = nodes
    this.#uses = uses
    this.#body = body
    this.#running = nodes.running.map((node) => this.#logIn(node))
  }

  /** Enables the auth method. */
  static async enable(client: ApiClient): Promise<void> {
    await client.call('POST', 'sys/auth/approle', { body: { type: 'approle' } })
  }

  static async start(nodes: TestNodes, uses: number): Promise<LimitedLogins> {
    const client = nodes.clientOf(await nodes.active())
    await client.call('POST', 'auth/approle/role/r', { body: { secret_id_num_uses: uses } })
    const { data: role } = (await client.read('auth/approle/role/r/role-id')) as { data: { role_id: string } }
    const made = (await client.call('POST', 'auth/approle/role/r/secret-id')) as { data: { secret_id: string } }
    return new LimitedLogins(nodes, uses, { role_id: role.role_id, secret_id: made.data.secret_id })
  }

  /** Resolves after `count` logins, or when the uses are spent. */
  reach(count: number): Promise<void> {
    return until(() => this.#done >= count || this.#isSpent)
  }

  /** Resolves when the uses are spent: to the number of logins, and to the number of logins beyond the limit. */
  async end(): Promise<{ readonly logins: number; readonly tooMany: number }> {
    await Promise.all(this.#running)
    while (!this.#isSpent) await this.#try(await this.#nodes.active())
    return { logins: this.#done, tooMany: Math.max(0, this.#done - this.#uses) }
  }

  async #logIn(node: TestNode): Promise<void> {
    while (!this.#isSpent && node.isRunning) await this.#try(node)
  }

  async #try(node: TestNode): Promise<void> {
    const answer: ApiAnswer | undefined = await node.send('POST', LOGIN, { body: this.#body }).catch(() => undefined)
    if (answer?.status === 200) this.#done++
    if (answer?.status === 400) this.#isSpent = true
  }
}

/**
 * Logs in with a limited SecretID at every node while the active node is stopped. Checks that no use beyond the limit
 * is accepted.
 */
export const expectUsesCounted = async <N extends TestNode>(
  nodes: TestNodes<N>,
  end: (node: N) => Promise<void>,
): Promise<void> => {
  await LimitedLogins.enable(nodes.clientOf(await nodes.active()))
  const clients = await LimitedLogins.start(nodes, 25)
  await clients.reach(5)
  await end(await nodes.active())
  await nodes.active()
  const { logins, tooMany } = await clients.end()
  expect(logins).toBeGreaterThanOrEqual(5)
  expect(tooMany).toBe(0)
}
