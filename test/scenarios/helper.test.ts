import { afterEach, expect, it } from 'vitest'
import { systemClock } from '../../src/base/clock.js'
import { type ApiAnswer, type ApiClient, errorsOf } from '../../src/client/api-client.js'
import type { Kind } from '../../src/lab/model/kinds.js'
import { type Cluster, Clusters } from '../support/clusters.js'
import { type Drill, drill } from '../support/drill.js'
import { soakRounds, soakTimeoutMs } from '../support/soak.js'

/**
 * What public test helpers do to a pair of clusters: all steps in a row without a pause, with retries only after a 5xx
 * response. Any other failure ends a helper, as does a failed status read or an unexpected mode.
 */

const ROUNDS = soakRounds(3)
const PATIENCE_MS = 30_000
const OPERATION = 'sys/replication/dr/secondary/generate-operation-token'

let clusters: Clusters
afterEach(() => clusters.close())

interface Call {
  readonly method: string
  readonly path: string
  readonly body?: object | undefined
}

/** One step of a helper. Counts its retries. */
class Helper {
  readonly #on: Drill
  repeats = 0

  constructor(on: Drill) {
    this.#on = on
  }

  async call(name: string, client: ApiClient, { method, path, body }: Call): Promise<ApiAnswer> {
    const deadlineMs = systemClock.monotonic() + PATIENCE_MS
    for (;;) {
      const answer = await client.send(method, path, body ? { body } : {})
      if (answer.status < 300) return answer
      const text = `${method} ${name} ${path}: ${answer.status} ${errorsOf(answer).join('; ')}`
      if (answer.status < 500 || systemClock.monotonic() > deadlineMs) throw new Error(text)
      if (this.repeats++ === 0) this.#on.note(`repeated: ${text}`)
    }
  }

  async write(cluster: Cluster, path: string, body: object = {}): Promise<Record<string, unknown>> {
    return (await this.call(cluster.name, cluster.client, { method: 'PUT', path, body })).json ?? {}
  }

  /** Changes a role. The response has a body, and the status shows the new role from then on. */
  async change(cluster: Cluster, kind: Kind, operation: string, mode: string, body: object = {}): Promise<void> {
    const answer = await this.write(cluster, `sys/replication/${kind}/${operation}`, body)
    expect(answer.warnings, operation).toBeTruthy()
    const status = await this.status(cluster, kind)
    expect(mode.split('|'), `${cluster.name} after ${operation}`).toContain(status.mode)
    if (mode === 'primary') expect(status.state).toBe('running')
  }

  /** Reads the status, without a retry. */
  async status(cluster: Cluster, kind: Kind): Promise<Record<string, unknown>> {
    const answer = await cluster.anonymous.send('GET', `sys/replication/${kind}/status`)
    const data = (answer.json?.data ?? {}) as Record<string, unknown>
    expect(answer.status, `${kind}/status of ${cluster.name}`).toBe(200)
    if (data.mode === 'primary' || data.mode === 'secondary') expect(data.merkle_root).toMatch(/^[0-9a-f]{40}$/)
    const health = await cluster.anonymous.send('GET', 'sys/health')
    expect([200, 472, 503], `sys/health of ${cluster.name}`).toContain(health.status)
    return data
  }

  async token(primary: Cluster, kind: Kind, secondary: Cluster): Promise<string> {
    const health = await secondary.anonymous.send('GET', 'sys/health')
    const id = String(health.json?.cluster_id)
    const body = { id, ttl: '1h' }
    const answer = await this.write(primary, `sys/replication/${kind}/primary/secondary-token`, body)
    return String((answer.wrap_info as { token?: unknown }).token)
  }

  async unseal(cluster: Cluster, keys: readonly string[]): Promise<void> {
    for (const key of keys) {
      const answer = await this.call(cluster.name, cluster.anonymous, {
        method: 'PUT',
        path: 'sys/unseal',
        body: { key },
      })
      expect(answer.json).toMatchObject({ sealed: false, initialized: true })
    }
  }

  /**
   * Waits for equal roots, a stream, and a connection that both sides report. Until then, only the modes of a joining
   * secondary are valid.
   */
  async untilReplicated(primary: Cluster, secondary: Cluster, kind: Kind): Promise<void> {
    const deadlineMs = systemClock.monotonic() + PATIENCE_MS
    for (;;) {
      const ours = await this.status(primary, kind)
      const theirs = await this.status(secondary, kind)
      expect(ours.mode).toBe('primary')
      expect(['bootstrapping', 'secondary']).toContain(theirs.mode)
      const isEqual = theirs.state === 'stream-wals' && theirs.merkle_root === ours.merkle_root
      const wal = kind === 'dr' ? ours.last_dr_wal : ours.last_performance_wal
      const [link] = (theirs.primaries ?? []) as { connection_status?: string }[]
      if (isEqual && Number(theirs.last_remote_wal) >= Number(wal) && link?.connection_status === 'connected') return
      expect(systemClock.monotonic(), JSON.stringify(theirs)).toBeLessThan(deadlineMs)
    }
  }

  /** Generates a token with key shares: at `sys/generate-root`, or an operation token on a DR secondary. */
  async generate(cluster: Cluster, path: string, keys: readonly string[]): Promise<string> {
    const { anonymous: client, name } = cluster
    await this.call(name, client, { method: 'DELETE', path: `${path}/attempt` })
    const attempt = (await this.call(name, client, { method: 'PUT', path: `${path}/attempt`, body: {} })).json ?? {}
    const otp = Buffer.from(String(attempt.otp))
    for (const key of keys) {
      const body = { key, nonce: attempt.nonce }
      const { json } = await this.call(name, client, { method: 'PUT', path: `${path}/update`, body })
      if (json?.complete !== true) continue
      const encoded = Buffer.from(String(json.encoded_token), 'base64')
      return Buffer.from(encoded.map((byte, i) => byte ^ (otp[i] ?? 0))).toString()
    }
    throw new Error('the shares did not suffice')
  }
}

const SECRET = { path: 'kv/it', body: { value: 'seen' } }

const startPair = async () => {
  clusters = new Clusters()
  const [A, B] = [await clusters.add('A'), await clusters.add('B')]
  await A.client.write('sys/mounts/kv', { type: 'kv' })
  return { A, B }
}

/**
 * Performance replication: set up, write through the secondary, switch the roles with demote, promote and
 * update-primary, and switch back.
 */
const performance = async (helper: Helper): Promise<void> => {
  const kind = 'performance'
  const { A, B } = await startPair()
  await helper.change(A, kind, 'primary/enable', 'primary')
  const token = await helper.token(A, kind, B)
  await helper.change(B, kind, 'secondary/enable', 'bootstrapping|secondary', { token })
  await helper.unseal(B, A.unsealKeys)
  B.seal = { ...A.seal, rootToken: '' }
  B.seal = { ...A.seal, rootToken: await helper.generate(B, 'sys/generate-root', A.unsealKeys) }
  await helper.untilReplicated(A, B, kind)
  await helper.write(B, SECRET.path, SECRET.body)
  for (const [from, to] of [
    [A, B],
    [B, A],
  ] as const) {
    await helper.change(from, kind, 'primary/demote', 'secondary')
    await helper.change(to, kind, 'secondary/promote', 'primary')
    const next = await helper.token(to, kind, from)
    await helper.change(from, kind, 'secondary/update-primary', 'secondary', { token: next })
    await helper.unseal(from, A.unsealKeys)
    await helper.untilReplicated(to, from, kind)
    await helper.write(from, SECRET.path, { value: `through ${from.name}` })
  }
}

/** Disaster recovery: set up, planned failover, and failback. */
const disasterRecovery = async (helper: Helper): Promise<void> => {
  const kind = 'dr'
  const { A, B } = await startPair()
  const { seal } = A
  await helper.change(A, kind, 'primary/enable', 'primary')
  const token = await helper.token(A, kind, B)
  await helper.change(B, kind, 'secondary/enable', 'bootstrapping|secondary', { token })
  B.seal = { ...seal, rootToken: '' }
  await helper.untilReplicated(A, B, kind)
  for (const [from, to] of [
    [A, B],
    [B, A],
  ] as const) {
    await helper.write(from, SECRET.path, { value: `by ${from.name}` })
    const promotion = await helper.generate(to, OPERATION, seal.unsealKeys)
    await helper.change(from, kind, 'primary/demote', 'secondary')
    from.seal = { ...seal, rootToken: '' }
    await helper.change(to, kind, 'secondary/promote', 'primary', { dr_operation_token: promotion })
    to.seal = seal
    const read = await helper.call(to.name, to.client, { method: 'GET', path: SECRET.path })
    expect(read.json?.data).toEqual({ value: `by ${from.name}` })
    const next = await helper.token(to, kind, from)
    const operation = await helper.generate(from, OPERATION, seal.unsealKeys)
    const body = { token: next, dr_operation_token: operation }
    await helper.change(from, kind, 'secondary/update-primary', 'secondary', body)
    await helper.untilReplicated(to, from, kind)
  }
}

it.each([
  ['performance', performance],
  ['dr', disasterRecovery],
] as const)(
  'a test helper without pauses that retries only after 5xx succeeds (%s)',
  (kind, steps) =>
    drill(`${ROUNDS} runs of a helper, ${kind}`, async (on) => {
      const helper = new Helper(on)
      for (let round = 1; round <= ROUNDS; round++) {
        await steps(helper)
        await clusters.close()
        on.step(`round ${round} of ${ROUNDS} passed`)
      }
      on.note(`${ROUNDS} of ${ROUNDS} passed, ${helper.repeats} requests repeated after 5xx`)
    }),
  soakTimeoutMs(ROUNDS),
)
