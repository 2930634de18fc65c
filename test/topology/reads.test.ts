import { setImmediate } from 'node:timers/promises'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { errorsOf } from '../../src/client/api-client.js'
import { type Cluster, openClusters } from '../support/clusters.js'
import { forEachOf } from '../support/load.js'

/** Responses to clients of a primary, a performance secondary and a DR secondary. */
const clusters = openClusters()
let primary: Cluster
let copy: Cluster
let secondary: Cluster

beforeAll(async () => {
  primary = await clusters.add('A', { settings: { wal_retention_entries: 64 }, hasLink: true })
  secondary = await clusters.add('C')
  copy = await clusters.add('B')
  const { client } = primary
  await client.write('sys/mounts/v1', { type: 'kv', options: { version: '1' } })
  await client.write('sys/mounts/v2', { type: 'kv', options: { version: '2' } })
  await client.write('sys/auth/userpass', { type: 'userpass' })
  await client.write('sys/policies/acl/reader', { policy: 'path "v1/*" { capabilities = ["read", "update"] }' })
  await client.write('auth/userpass/users/ann', { password: 'pw', token_policies: 'reader' })
  await client.write('v1/shared', { word: 'from A' })
  await clusters.join(primary, secondary, 'performance')
  await clusters.join(primary, copy, 'dr')
})

const KEYS = 4
const ROUNDS = 60
const READERS = 6
const FILLERS = 3000

interface History {
  readonly wrong: string[]
  reads: number
}

/**
 * Writes round n to key 0, then to key 1, and so on. A client that has seen a key in a round must see all earlier
 * writes.
 */
const writeRounds = async (folder: string, rounds: number, first = 1): Promise<void> => {
  for (let round = first; round < first + rounds; round++) {
    for (let key = 0; key < KEYS; key++) {
      await primary.client.write(`v2/data/${folder}/${key}`, { data: { round, again: `${round}`.repeat(50) } })
    }
  }
}

/** Reads until `isDone` returns true. Returns all inconsistent responses. */
const readHistory = async (folder: string, isDone: () => boolean, seed: number): Promise<History> => {
  const history: History = { wrong: [], reads: 0 }
  const latest = Array.from({ length: KEYS }, () => 0)
  const see = (key: number, round: number, what: string) => {
    if (round < (latest[key] ?? 0)) history.wrong.push(`${what}: key ${key} went from ${latest[key]} back to ${round}`)
    latest[key] = Math.max(latest[key] ?? 0, round)
  }
  const causes = (key: number, round: number) => {
    for (let before = 0; before < key; before++) latest[before] = Math.max(latest[before] ?? 0, round)
    for (let behind = key + 1; behind < KEYS; behind++) {
      latest[behind] = Math.max(latest[behind] ?? 0, round - 1)
    }
  }
  for (let step = seed; !isDone(); step++) {
    const key = (step * 7) % KEYS
    const isMetadata = step % 3 === 0
    const path = `v2/${isMetadata ? 'metadata' : 'data'}/${folder}/${key}`
    const answer = await secondary.client.send('GET', path)
    history.reads++
    if (answer.status === 404 && latest[key] === 0) continue
    const data = answer.json?.data as Record<string, unknown> | undefined
    if (answer.status !== 200 || !data) {
      history.wrong.push(`${path}: ${answer.status} ${answer.bytes.toString().slice(0, 200)}`)
      continue
    }
    if (isMetadata) {
      see(key, Number(data.current_version), 'metadata')
      if (!(String(data.current_version) in (data.versions as object))) history.wrong.push(`${path}: half a version`)
    } else {
      const { version } = data.metadata as { version: number }
      const { round, again } = data.data as { round: number; again: string }
      if (round !== version || again !== `${round}`.repeat(50)) history.wrong.push(`${path}: ${round} in ${version}`)
      see(key, version, 'data')
    }
    causes(key, latest[key] ?? 0)
    await setImmediate()
  }
  return history
}

const watch = async (folder: string, work: () => Promise<void>): Promise<{ reads: number; wrong: string[] }> => {
  let isDone = false
  const readers = Array.from({ length: READERS }, (_, seed) => readHistory(folder, () => isDone, seed))
  await work().finally(() => {
    isDone = true
  })
  const histories = await Promise.all(readers)
  return {
    reads: histories.reduce((sum, { reads }) => sum + reads, 0),
    wrong: histories.flatMap(({ wrong }) => wrong),
  }
}

describe('reads on a performance secondary', () => {
  it('reads on a performance secondary never go back in time or show partial transactions, across disconnects', async () => {
    const { reads, wrong } = await watch('live', async () => {
      await writeRounds('live', ROUNDS)
      for (let cut = 0; cut < 3; cut++) {
        primary.link.partition()
        await writeRounds('live', 4, ROUNDS + 1 + 4 * cut)
        primary.link.heal()
        await clusters.untilReplicated(primary, secondary, 'performance')
      }
    })
    console.log(`streaming and cut off three times: ${reads} reads of ${READERS} clients`)
    expect(wrong.slice(0, 10)).toEqual([])
    expect(reads).toBeGreaterThan(ROUNDS)
  })

  it('reads on a performance secondary never go back in time during a resync', async () => {
    await writeRounds('lost', 10)
    await clusters.untilReplicated(primary, secondary, 'performance')
    const { reads, wrong } = await watch('lost', async () => {
      primary.link.partition()
      await writeRounds('lost', 30, 11)
      // Other missing data makes the keys arrive in many pieces.
      await forEachOf(Array(FILLERS).keys(), 32, async (index) => {
        await primary.client.write(`v2/data/filler/${index}`, { data: { value: 'f'.repeat(2000) } })
      })
      await writeRounds('lost', 30, 41)
      primary.link.heal()
      await clusters.untilReplicated(primary, secondary, 'performance')
      await writeRounds('lost', 10, 71)
      await clusters.untilReplicated(primary, secondary, 'performance')
    })
    console.log(`a resync: ${reads} reads of ${READERS} clients, ${wrong.length} wrong`)
    expect(wrong.slice(0, 10)).toEqual([])
  })
})

describe('writes on a performance secondary', () => {
  it('a write on a performance secondary is answered like a local write and readable on both sides at once', async () => {
    const below = secondary.client
    const above = primary.client
    expect((await below.send('PUT', 'v1/forwarded', { body: { word: 'one' } })).status).toBe(204)
    expect((await above.read('v1/forwarded')).data).toEqual({ word: 'one' })
    expect((await below.read('v1/forwarded')).data).toEqual({ word: 'one' })

    const written = await below.send('POST', 'v2/data/forwarded', { body: { data: { word: 'two' } } })
    expect(written.status).toBe(200)
    expect(written.json?.data).toMatchObject({ version: 1, destroyed: false, deletion_time: '' })
    expect((await below.read('v2/data/forwarded')).data).toMatchObject({ data: { word: 'two' } })

    const stale = await below.send('POST', 'v2/data/forwarded', { body: { options: { cas: 0 }, data: { a: 1 } } })
    expect([stale.status, errorsOf(stale)]).toEqual([
      400,
      ['check-and-set parameter did not match the current version'],
    ])

    expect((await below.send('PUT', 'sys/mounts/from-c', { body: { type: 'kv' } })).status).toBe(204)
    expect((await below.send('PUT', 'from-c/x', { body: { word: 'three' } })).status).toBe(204)
    expect((await above.read('from-c/x')).data).toEqual({ word: 'three' })
    expect((await below.read('from-c/x')).data).toEqual({ word: 'three' })
    const policy = 'path "x" { capabilities = ["read"] }'
    expect((await below.send('PUT', 'sys/policies/acl/from-c', { body: { policy } })).status).toBe(204)
    expect((await above.read('sys/policies/acl/from-c')).data).toEqual({ name: 'from-c', policy })
    expect((await below.read('sys/policies/acl/from-c')).data).toEqual({ name: 'from-c', policy })
    expect((await below.send('DELETE', 'sys/mounts/from-c')).status).toBe(204)
    expect((await above.send('GET', 'from-c/x')).status).toBe(404)
    expect((await below.send('GET', 'from-c/x')).status).toBe(404)
  })

  it('writes on a performance secondary fail while the primary is unreachable, and reads, logins and local mounts work', async () => {
    const below = secondary.client
    await below.write('sys/mounts/here', { type: 'kv', local: true })
    await below.write('auth/userpass/users/new', { password: 'pw' })
    const logIn = (name: string) =>
      below.send('POST', `auth/userpass/login/${name}`, { body: { password: 'pw' }, token: '' })
    const first = await logIn('ann')
    expect(first.status, first.bytes.toString()).toBe(200)
    await clusters.untilReplicated(primary, secondary, 'performance')
    await primary.link.down()
    onTestFinished(() => primary.link.up())
    await secondary.until('notice', async () =>
      (await secondary.status('performance')).connection_state === 'ready' ? 'it is ready' : undefined,
    )
    const refused = await below.send('PUT', 'v1/shared', { body: { word: 'lost' } })
    expect([refused.status, errorsOf(refused).join()]).toEqual([
      503,
      expect.stringContaining('primary cluster is unreachable'),
    ])
    expect((await below.read('v1/shared')).data).toEqual({ word: 'from A' })
    const login = await logIn('ann')
    expect(login.status, login.bytes.toString()).toBe(200)
    const known = (first.json as { auth: { entity_id: string } }).auth.entity_id
    expect(login.json?.auth).toMatchObject({ entity_id: known, token_policies: ['default', 'reader'] })
    // The first login of a user creates an entity, which only the primary can do.
    expect((await logIn('new')).status).toBe(503)
    expect((await below.send('PUT', 'here/x', { body: { word: 'local' } })).status).toBe(204)
    expect((await below.read('here/x')).data).toEqual({ word: 'local' })
    expect((await secondary.status('performance')).state).toBe('stream-wals')
    await primary.link.up()
    await clusters.untilReplicated(primary, secondary, 'performance')
    expect((await below.send('PUT', 'v1/shared', { body: { word: 'from C' } })).status).toBe(204)
    expect((await primary.client.read('v1/shared')).data).toEqual({ word: 'from C' })
  })
})

const statusOf = async (cluster: Cluster, token: string) => {
  const answer = await cluster.client.send('GET', 'auth/token/lookup-self', { token })
  return answer.status
}

describe('tokens', () => {
  it('a token works only on the cluster that issued it, except an orphan batch token', async () => {
    const create = async (cluster: Cluster, path: string, body: object) =>
      ((await cluster.client.write(path, body)).auth as { client_token: string }).client_token
    const ofA = await create(primary, 'auth/token/create', { policies: ['reader'] })
    const ofC = await create(secondary, 'auth/token/create', { policies: ['reader'] })
    const batch = await create(primary, 'auth/token/create-orphan', { type: 'batch', policies: ['reader'], ttl: '1h' })
    await clusters.untilReplicated(primary, secondary, 'performance')
    expect([await statusOf(primary, ofA), await statusOf(secondary, ofA)]).toEqual([200, 403])
    expect([await statusOf(primary, ofC), await statusOf(secondary, ofC)]).toEqual([403, 200])
    expect([await statusOf(primary, batch), await statusOf(secondary, batch)]).toEqual([200, 200])
    expect(await statusOf(secondary, primary.rootToken)).toBe(403)
    const read = await secondary.client.send('GET', 'v1/shared', { token: batch })
    expect(read.status).toBe(200)
    const write = await secondary.client.send('PUT', 'v1/shared', { token: batch, body: { word: 'by batch token' } })
    expect(write.status).toBe(204)
    expect((await primary.client.read('v1/shared')).data).toEqual({ word: 'by batch token' })

    const login = await secondary.client.write('auth/userpass/login/ann', { password: 'pw' })
    const { client_token: ofLogin } = login.auth as { client_token: string }
    expect([await statusOf(primary, ofLogin), await statusOf(secondary, ofLogin)]).toEqual([403, 200])
    const forwarded = await secondary.client.send('PUT', 'v1/shared', { token: ofLogin, body: { word: 'by login' } })
    expect(forwarded.status).toBe(204)
    const denied = await secondary.client.send('PUT', 'v2/data/x', { token: ofLogin, body: { data: {} } })
    expect(denied.status).toBe(403)
  })
})

describe('local mounts', () => {
  it('local mounts are not replicated', async () => {
    await secondary.client.write('sys/mounts/only-c', { type: 'kv', local: true })
    await secondary.client.write('only-c/x', { word: 'C' })
    await primary.client.write('sys/mounts/only-a', { type: 'kv', local: true })
    await primary.client.write('only-a/x', { word: 'A' })
    await clusters.untilReplicated(primary, secondary, 'performance')
    expect((await secondary.client.read('only-c/x')).data).toEqual({ word: 'C' })
    for (const [cluster, path] of [[primary, 'only-c/x'] as const, [secondary, 'only-a/x'] as const]) {
      const answer = await cluster.client.send('GET', path)
      expect([answer.status, errorsOf(answer)]).toEqual([
        404,
        [`no handler for route "${path}". route entry not found.`],
      ])
    }
    const mounts = (await primary.client.read('sys/mounts')).data as Record<string, { local: boolean }>
    expect([mounts['only-c/'], mounts['only-a/']?.local]).toEqual([undefined, true])
  })
})

const GATED: readonly (readonly [method: string, path: string])[] = [
  ['GET', 'v1/shared'],
  ['PUT', 'v1/shared'],
  ['DELETE', 'v1/shared'],
  ['LIST', 'v1'],
  ['GET', 'nowhere/at/all'],
  ['GET', 'v2/data/forwarded'],
  ['GET', 'cubbyhole/x'],
  ['GET', 'sys/mounts'],
  ['POST', 'sys/mounts/new'],
  ['GET', 'sys/auth'],
  ['GET', 'sys/policies/acl/reader'],
  ['GET', 'sys/audit'],
  ['GET', 'sys/license/status'],
  ['GET', 'sys/metrics'],
  ['PUT', 'sys/seal'],
  ['PUT', 'sys/step-down'],
  ['PUT', 'sys/init'],
  ['PUT', 'sys/unseal'],
  ['GET', 'sys/generate-root/attempt'],
  ['PUT', 'sys/wrapping/wrap'],
  ['GET', 'sys/internal/ui/mounts'],
  ['GET', 'sys/storage/raft/configuration'],
  ['POST', 'auth/userpass/login/ann'],
  ['POST', 'auth/token/create'],
  ['GET', 'auth/token/lookup-self'],
  ['POST', 'sys/replication/dr/primary/enable'],
  ['POST', 'sys/replication/dr/primary/secondary-token'],
  ['POST', 'sys/replication/dr/secondary/enable'],
  ['POST', 'sys/replication/performance/primary/enable'],
  ['POST', 'sys/replication/performance/secondary/promote'],
  ['POST', 'sys/replication/primary/enable'],
]

describe('a DR secondary', () => {
  it('a DR secondary rejects all paths that are not allowed with one error text, for every token', async () => {
    for (const [method, path] of GATED) {
      for (const token of ['', primary.rootToken, 'nonsense']) {
        const body = method === 'PUT' || method === 'POST' ? { body: {} } : {}
        const answer = await copy.anonymous.send(method, path, { token, ...body })
        expect([method, path, answer.status, errorsOf(answer)]).toEqual([
          method,
          path,
          400,
          ['path disabled in replication DR secondary mode'],
        ])
      }
    }
    console.log(`${GATED.length} paths are gated on the DR secondary`)
  })

  it.each([
    'sys/health',
    'sys/seal-status',
    'sys/leader',
    'sys/init',
    'sys/replication/status',
    'sys/replication/dr/status',
    'sys/replication/performance/status',
    'sys/replication/dr/secondary/generate-operation-token/attempt',
  ])('a DR secondary serves %s', async (path) => {
    const { status } = await copy.anonymous.send('GET', path)
    expect(status).toBe(path === 'sys/health' ? 472 : 200)
  })
})

it('sys/health reports the roles of primary, DR secondary and performance secondary', async () => {
  const health = async (cluster: Cluster, query: Record<string, string> = {}) => {
    const { status, json } = await cluster.anonymous.send('GET', 'sys/health', { query })
    return [status, json?.replication_dr_mode, json?.replication_performance_mode]
  }
  expect(await health(primary)).toEqual([200, 'primary', 'primary'])
  expect(await health(copy)).toEqual([472, 'secondary', 'primary'])
  expect(await health(secondary)).toEqual([200, 'disabled', 'secondary'])
  expect((await health(copy, { standbyok: 'true', perfstandbyok: 'true' }))[0]).toBe(472)
  expect((await health(copy, { drsecondarycode: '299' }))[0]).toBe(299)
  const head = await copy.anonymous.send('HEAD', 'sys/health')
  expect([head.status, head.bytes.length]).toEqual([472, 0])
})
