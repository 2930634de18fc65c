import { setImmediate as turn } from 'node:timers/promises'
import { beforeAll, expect, it } from 'vitest'
import { systemClock } from '../../src/base/clock.js'
import { errorsOf } from '../../src/client/api-client.js'
import { operationToken } from '../support/ceremony.js'
import { type Cluster, openClusters } from '../support/clusters.js'
import { drill } from '../support/drill.js'

/**
 * During a role change, no connection and no request is refused. Status reads respond consistently throughout, and all
 * other requests wait for the new role. An overtaken primary rejects writes if it is configured to.
 */
const clusters = openClusters()
let A: Cluster
let B: Cluster

beforeAll(async () => {
  A = await clusters.add('A', { settings: { fence_client_writes: true, role_change_wait: '20s' } })
  B = await clusters.add('B', { settings: { role_change_wait: '20s' } })
  await A.client.write('sys/mounts/kv', { type: 'kv' })
  await A.client.write('kv/it', { value: 1 })
  await clusters.join(A, B, 'dr', 'dr-b')
})

const QUESTIONS = ['sys/replication/dr/status', 'sys/health', 'sys/seal-status', 'sys/leader', 'kv/it'] as const
const GATE = 'path disabled in replication DR secondary mode'

/**
 * Sends several requests to a cluster repeatedly and collects every kind of response, in order. Resolves when each
 * request was answered once.
 */
const observe = async (cluster: Cluster) => {
  const seen = { status: [] as string[], health: [] as string[], client: new Set<string>(), failures: [] as string[] }
  const asked = new Set<string>()
  let slowestMs = 0
  let isStopping = false
  const note = (list: string[], what: string) => {
    if (list.at(-1) !== what) list.push(what)
  }
  const ask = async (
    path: (typeof QUESTIONS)[number],
    take: (status: number, json: Record<string, unknown>) => void,
  ) => {
    while (!isStopping) {
      const startedMs = systemClock.monotonic()
      try {
        const answer = await cluster.anonymous.send('GET', path, { token: A.rootToken })
        take(answer.status, { ...answer.json, errors: errorsOf(answer).join() })
        asked.add(path)
      } catch (error) {
        seen.failures.push(`${path}: ${String(error)}`)
      }
      slowestMs = Math.max(slowestMs, systemClock.monotonic() - startedMs)
      await turn()
    }
  }
  const running = Promise.all([
    ask('sys/replication/dr/status', (status, { data }) => {
      const { mode, merkle_root } = (data ?? {}) as Record<string, unknown>
      if (status !== 200 || !/^[0-9a-f]{40}$/.test(String(merkle_root)))
        seen.failures.push(`status ${status} ${merkle_root}`)
      note(seen.status, String(mode))
    }),
    ask('sys/health', (status, json) => note(seen.health, `${status} ${json.replication_dr_mode}`)),
    ask('sys/seal-status', (status) => status === 200 || seen.failures.push(`seal-status ${status}`)),
    ask('sys/leader', (status) => status === 200 || seen.failures.push(`leader ${status}`)),
    ask('kv/it', (status, { errors }) => seen.client.add(`${status} ${errors}`)),
  ])
  await cluster.until('answer every question', async () =>
    asked.size === QUESTIONS.length || seen.failures.length > 0 ? undefined : `only ${[...asked].join()}`,
  )
  return {
    seen,
    async stop() {
      isStopping = true
      await running
      return Math.round(slowestMs)
    },
  }
}

it('a cluster responds to all requests throughout a promotion', () =>
  drill('promotion watched', async (on) => {
    on.step('A is killed; B is promoted under watch')
    const rootToken = A.rootToken
    await clusters.untilReplicated(A, B, 'dr')
    await A.server.crash()
    const operation = await operationToken(B)
    const watch = await observe(B)
    await on.change(B, 'dr/secondary/promote', { dr_operation_token: operation }, 'is being promoted')
    B.seal = { ...B.seal, rootToken }
    await B.untilServes()
    on.note(`slowest answer ${await watch.stop()} ms`)
    expect(watch.seen.failures).toEqual([])
    expect(watch.seen.status).toEqual(['secondary', 'primary'])
    expect(watch.seen.health).toEqual(['472 secondary', '200 primary'])
    expect([...watch.seen.client].sort()).toEqual(['200 ', `400 ${GATE}`])
  }))

it('an overtaken primary with fence_client_writes rejects writes, and its health is 503', () =>
  drill('fence_client_writes', async (on) => {
    await A.reopen()
    await on.wait(A, 'to be fenced', async () => {
      const { fenced } = await A.anonymous.call('GET', '/_understudy/v1/info')
      return fenced ? undefined : 'it is not fenced'
    })
    await on.refused(A, 'PUT', 'kv/it', { value: 2 }, 503, 'fenced')
    expect(await on.read(A, 'kv/it')).toBe(1)
    await on.write(B, 'kv/it', 3)

    on.step('the demotion is watched, too, and clears the fence')
    const watch = await observe(A)
    await on.change(A, 'dr/primary/demote', {}, 'is being demoted')
    await on.gated(A)
    on.note(`slowest answer ${await watch.stop()} ms`)
    expect(watch.seen.failures).toEqual([])
    expect(watch.seen.status).toEqual(['primary', 'secondary'])
    expect(watch.seen.health).toEqual(['503 primary', '472 secondary'])
    for (const answer of watch.seen.client) expect(['200 ', `400 ${GATE}`]).toContain(answer)
    expect((await on.ok(A, 'GET', '/_understudy/v1/info')).body.fenced).toBeNull()
  }))
