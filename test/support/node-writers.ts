import { expect } from 'vitest'
import type { ApiAnswer, ApiClient } from '../../src/client/api-client.js'
import type { TestNode, TestNodes } from './nodes.js'
import { until } from './until.js'

/** Clients that write and log in while nodes come and go, and what must hold of what they were answered. */

/** Writes one key after the other through every node until it is told to stop; a write that failed is not tried again. */
export class Writers {
  readonly acknowledged = new Set<string>()
  readonly #nodes: TestNodes
  readonly #running: Promise<void>[]
  #isOver = false

  constructor(nodes: TestNodes) {
    this.#nodes = nodes
    this.#running = nodes.all.map((node) => this.#write(node))
  }

  /** Resolves when more was acknowledged. */
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

/** Everything that was acknowledged is there. */
export const expectAll = async (client: ApiClient, { acknowledged }: Writers): Promise<void> => {
  const { keys } = ((await client.send('LIST', 'kv/')).json?.data ?? {}) as { keys: string[] }
  const there = new Set(keys)
  expect([...acknowledged].filter((key) => !there.has(key))).toEqual([])
  for (const key of [...acknowledged].slice(-10)) {
    expect((await client.send('GET', `kv/${key}`)).json?.data).toEqual({ value: key })
  }
}

/** Kills three active nodes under load, one after the other, and brings each back: nothing that was acknowledged is lost. */
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

/** What takes the lead from a node that lives on, and lets it go again. */
interface Obstruction<N> {
  block(active: N): void
  unblock(active: N): void
}

/** While the active node is blocked another goes on without it, and it is level with that one when it is let go. */
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

/** Clients that log in at every node with a SecretID that is good for so many logins, until it is spent. */
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

  /** Where roles can be made. */
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

  /** Resolves when so many have succeeded, or none does any more. */
  reach(count: number): Promise<void> {
    return until(() => this.#done >= count || this.#isSpent)
  }

  /** Resolves, when no more succeed, to how many there were, and how many of them were too many. */
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

/** Logs in with a limited SecretID at every node until it is spent, and ends the active node meanwhile: it is not used too often. */
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
