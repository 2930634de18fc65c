import { beforeAll, describe, expect, it } from 'vitest'
import type { ApiAnswer, ApiClient } from '../../src/client/api-client.js'
import { type Cluster, openClusters } from '../support/clusters.js'
import { until } from '../support/until.js'
import type { Json } from '../support/wire.js'

/** Exclusive resources that many clients request at the same time, over real connections, on one cluster and on two. */
const AT_ONCE = 100

const clusters = openClusters()
let primary: Cluster
let secondary: Cluster

beforeAll(async () => {
  ;[primary, secondary] = await Promise.all([clusters.add('A'), clusters.add('B')])
  await clusters.join(primary, secondary, 'performance')
  await primary.client.write('sys/auth/approle', { type: 'approle' })
  await primary.client.write('sys/policies/acl/wide', {
    policy: 'path "*" { capabilities = ["create", "read", "update", "delete", "list"] }',
  })
  await secondary.until('follow', async () =>
    (await secondary.client.send('GET', 'sys/auth/approle')).status === 200 ? undefined : 'no mount yet',
  )
})

const repeat = <T>(times: number, work: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: times }, (_, index) => work(index)))

/** Returns the number of responses by status. */
const tally = (answers: readonly ApiAnswer[]): Record<string, number> => {
  const counts: Record<string, number> = {}
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

const json = (answer: ApiAnswer): Json => answer.json as unknown as Json

const makeToken = async (client: ApiClient, body: object): Promise<string> =>
  String(json(await client.send('POST', 'auth/token/create', { body })).auth.client_token)

const makeRole = (name: string, body: object = {}) =>
  primary.client.write(`auth/approle/role/${name}`, { role_id: name, ...body })

const issue = async (role: string, body: object = {}) => {
  const { data } = json(await primary.client.send('POST', `auth/approle/role/${role}/secret-id`, { body }))
  return { secretId: String(data.secret_id), accessor: String(data.secret_id_accessor) }
}

const login = (cluster: Cluster, role: string, secretId: string) =>
  cluster.anonymous.send('POST', 'auth/approle/login', { body: { role_id: role, secret_id: secretId } })

describe.each(['primary', 'secondary'])('on a performance %s, of 100 clients at once exactly one', (role) => {
  const cluster = () => (role === 'primary' ? primary : secondary)

  it('exactly one of 100 concurrent requests uses a token with one use', async () => {
    const token = await makeToken(cluster().client, { policies: ['wide'], num_uses: 1 })
    const answers = await repeat(AT_ONCE, () => cluster().client.send('GET', 'auth/token/lookup-self', { token }))
    expect(tally(answers)).toEqual({ 200: 1, 403: 99 })
  })

  it('exactly one of 100 concurrent requests reads the cubbyhole with a last use', async () => {
    const token = await makeToken(cluster().client, { policies: ['wide'], num_uses: 2 })
    await cluster().client.send('PUT', 'cubbyhole/response', { token, body: { word: 'once' } })
    const answers = await repeat(AT_ONCE, () => cluster().client.send('GET', 'cubbyhole/response', { token }))
    expect(tally(answers)).toEqual({ 200: 1, 403: 99 })
  })

  it('exactly one of 100 concurrent requests unwraps a wrapping token, however it is sent', async () => {
    const headers = { 'X-Vault-Wrap-TTL': '60' }
    const wrapped = await cluster().client.send('POST', 'sys/wrapping/wrap', { headers, body: { word: 'once' } })
    const token = String(json(wrapped).wrap_info.token)
    const answers = await repeat(AT_ONCE, (index) =>
      index % 2 === 0
        ? cluster().client.send('PUT', 'sys/wrapping/unwrap', { token })
        : cluster().client.send('PUT', 'sys/wrapping/unwrap', { body: { token } }),
    )
    const { 200: once, ...refused } = tally(answers)
    expect(once).toBe(1)
    expect(Object.keys(refused)).toEqual(['400'])
  })
})

describe('SecretIDs', () => {
  it('a SecretID with one use lets one of 100 concurrent logins on two clusters succeed', async () => {
    await makeRole('once')
    const { secretId } = await issue('once', { num_uses: 1 })
    await clusters.untilReplicated(primary, secondary, 'performance')
    const answers = await repeat(AT_ONCE, (index) => login(index % 2 === 0 ? primary : secondary, 'once', secretId))
    expect(tally(answers)).toEqual({ 200: 1, 400: 99 })
  })

  it('a SecretID with 50 uses lets 50 of 100 concurrent logins on two clusters succeed', async () => {
    await makeRole('many')
    const { secretId } = await issue('many', { num_uses: 50 })
    await clusters.untilReplicated(primary, secondary, 'performance')
    const answers = await repeat(AT_ONCE, (index) => login(index % 2 === 0 ? primary : secondary, 'many', secretId))
    expect(tally(answers)).toEqual({ 200: 50, 400: 50 })
  })

  it('a SecretID that is destroyed during logins stays invalid', async () => {
    await makeRole('doomed')
    await repeat(10, async () => {
      const { secretId, accessor } = await issue('doomed', { num_uses: 1000 })
      const before = Array.from({ length: 5 }, () => login(primary, 'doomed', secretId))
      const destroyed = primary.client.send('POST', 'auth/approle/role/doomed/secret-id/destroy', {
        body: { secret_id: secretId },
      })
      const beside = Array.from({ length: 5 }, () => login(primary, 'doomed', secretId))
      expect((await destroyed).status).toBe(204)
      expect((await login(primary, 'doomed', secretId)).status).toBe(400)
      const statuses = (await Promise.all([...before, ...beside])).map(({ status }) => status)
      expect(statuses.filter((status) => status !== 200 && status !== 400)).toEqual([])
      const body = { secret_id_accessor: accessor }
      const looked = await primary.client.send('POST', 'auth/approle/role/doomed/secret-id-accessor/lookup', { body })
      expect(looked.status).toBe(404)
    })
    expect((await primary.client.send('LIST', 'auth/approle/role/doomed/secret-id')).status).toBe(404)
  })

  it('tidy at any time does not remove an unused SecretID', async () => {
    await makeRole('tidied')
    let isOver = false
    const tidying = (async () => {
      const statuses = new Set<number>()
      while (!isOver) statuses.add((await primary.client.send('POST', 'auth/approle/tidy/secret-id')).status)
      return [...statuses].sort()
    })()
    const made = await repeat(60, async (index) => {
      const secret = await issue('tidied', index % 3 === 0 ? { num_uses: 5 } : {})
      expect((await login(primary, 'tidied', secret.secretId)).status).toBe(200)
      if (index % 4 === 0)
        await primary.client.write('auth/approle/role/tidied/secret-id/destroy', { secret_id: secret.secretId })
      return { ...secret, isLive: index % 4 !== 0 }
    })
    isOver = true
    expect((await tidying).filter((status) => status !== 202 && status !== 200)).toEqual([])
    // A tidy that reports an orphan would have begun before the last login. The next tidy can start only after its end.
    await until(async () => (await primary.client.send('POST', 'auth/approle/tidy/secret-id')).status === 202)
    const listed = await primary.client.call('LIST', 'auth/approle/role/tidied/secret-id')
    const live = made.filter(({ isLive }) => isLive)
    const keys = (listed as unknown as Json).data.keys as string[]
    expect(keys.toSorted()).toEqual(live.map(({ accessor }) => accessor).sort())
    for (const { secretId } of live) expect((await login(primary, 'tidied', secretId)).status).toBe(200)
  })
})
