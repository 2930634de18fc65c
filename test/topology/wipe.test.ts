import { randomBytes } from 'node:crypto'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { systemClock } from '../../src/base/clock.js'
import { errorsOf } from '../../src/client/api-client.js'
import type { Kind } from '../../src/lab/model/kinds.js'
import { enableSecondary, secondaryToken } from '../../src/lab/requests/replication.js'
import { waitFor } from '../../src/lab/requests/wait.js'
import { promoteDr } from '../support/ceremony.js'
import { type Cluster, Clusters } from '../support/clusters.js'
import { findInFiles, generationsOf, type Needles, storedWindows } from '../support/stored-bytes.js'

/** A new secondary keeps no earlier data, and an invalid token wipes nothing. */
const SECRETS = 120

let clusters: Clusters
let primary: Cluster

// Each test has its own set, because a promotion of a copy fences the primary.
beforeEach(async () => {
  clusters = new Clusters()
  primary = await clusters.add('A')
  await clusters.makePrimary(primary, 'performance')
  await clusters.makePrimary(primary, 'dr')
})

afterEach(() => clusters.close())

interface EarlierData {
  readonly token: string
  readonly accessor: string
  readonly policies: readonly string[]
  readonly names: Needles
  readonly canaries: Needles
}

/**
 * Returns a random name. LevelDB stores only the part of a key that differs from its neighbor, so no prefix is shared.
 */
const makeName = () => `${randomBytes(12).toString('hex')}`

/** Fills a cluster with recognizable secrets of every kind, policies, tokens, users and mounts. */
const fillCluster = async ({ client }: Cluster): Promise<EarlierData> => {
  const names = new Map<string, Buffer>()
  const canaries = new Map<string, Buffer>()
  const policies: string[] = []
  const name = (what: string) => {
    const text = makeName()
    names.set(`name of ${what}`, Buffer.from(text.slice(3)))
    return text
  }
  const canary = (what: string) => {
    const text = `canary-${randomBytes(30).toString('hex')}`
    canaries.set(`value of ${what}`, Buffer.from(text))
    return text
  }
  await client.write('sys/mounts/old1', { type: 'kv', options: { version: '1' } })
  await client.write('sys/mounts/old2', { type: 'kv', options: { version: '2' } })
  await client.write('sys/mounts/old-local', { type: 'kv', local: true })
  await client.write('sys/auth/userpass', { type: 'userpass' })
  for (let index = 0; index < SECRETS; index++) {
    const secret = { word: canary(`secret ${index}`) }
    await Promise.all([
      client.write(`old1/${name(`v1 ${index}`)}`, secret),
      client.write(`old2/data/${name(`v2 ${index}`)}`, { data: secret }),
      client.write(`old-local/${name(`local ${index}`)}`, secret),
      client.write(`cubbyhole/${name(`cubbyhole ${index}`)}`, secret),
    ])
    if (index % 10 > 0) continue
    const policy = name(`policy ${index}`)
    policies.push(policy)
    await client.write(`sys/policies/acl/${policy}`, { policy: `# ${canary(`policy ${index}`)}\npath "x" {}` })
    await client.write(`auth/userpass/users/${name(`user ${index}`)}`, { password: canary(`password ${index}`) })
  }
  const { auth } = (await client.write('auth/token/create', { meta: { note: canary('token') } })) as {
    auth: { client_token: string; accessor: string }
  }
  return { token: auth.client_token, accessor: auth.accessor, policies, names, canaries }
}

/**
 * Enables a secondary and waits until its mode is `secondary`. Returns the generations on disk at the first occurrence
 * of each mode.
 */
const enableAndWatch = async (cluster: Cluster, kind: Kind, token: string): Promise<Map<string, number[]>> => {
  const seen = new Map<string, number[]>()
  await enableSecondary(cluster.client, kind, token)
  await cluster.until('leave bootstrapping', async () => {
    const { mode } = await cluster.status(kind)
    if (!seen.has(String(mode))) seen.set(String(mode), generationsOf(cluster.dataDir))
    return mode === 'secondary' ? undefined : `mode is ${mode}`
  })
  return seen
}

it.each<Kind>(['performance', 'dr'])('a new %s secondary keeps no earlier data', async (kind) => {
  const cluster = await clusters.add(kind === 'dr' ? 'B' : 'C')
  const earlier = await fillCluster(cluster)
  await cluster.server.stop()
  const { dataDir } = cluster
  const windows = await storedWindows(dataDir)
  const before = findInFiles(dataDir, windows)
  expect(before.size, 'the search finds what is stored').toBe(windows.size)
  const namesBefore = findInFiles(dataDir, earlier.names).size
  expect(namesBefore).toBeGreaterThan(SECRETS)
  expect([...findInFiles(dataDir, earlier.canaries)], 'plain text on disk').toEqual([])
  await cluster.reopen()

  const seen = await enableAndWatch(cluster, kind, await secondaryToken(primary.client, kind, `wiped-${kind}`))
  expect([...seen.keys()], 'modes after the answer').not.toContain('disabled')
  expect(seen.get('secondary'), 'the old generation is gone').toEqual([2])
  cluster.seal = { ...primary.seal, rootToken: primary.rootToken }
  await clusters.untilReplicated(primary, cluster, kind)

  for (const needles of [windows, earlier.names, earlier.canaries]) {
    expect([...findInFiles(dataDir, needles)]).toEqual([])
  }
  if (kind === 'dr') await promoteDr(cluster, primary.rootToken)
  else await clusters.takeRoot(cluster)
  await expectNothingServed(cluster, earlier)
  await cluster.server.stop()
  for (const needles of [windows, earlier.names, earlier.canaries]) {
    expect([...findInFiles(dataDir, needles)], 'after a stop').toEqual([])
  }
  console.log(
    `${kind}: ${windows.size} windows of stored bytes, ${earlier.names.size} names and ${earlier.canaries.size} canaries searched, ` +
      `${before.size} windows and ${namesBefore} names found before, none after; modes seen: ${[...seen.keys()].join(', ')}`,
  )
})

const expectNothingServed = async ({ client }: Cluster, earlier: EarlierData): Promise<void> => {
  const { data: mounts } = (await client.read('sys/mounts')) as { data: Record<string, unknown> }
  expect(Object.keys(mounts).filter((path) => path.startsWith('old'))).toEqual([])
  const { data: auth } = (await client.read('sys/auth')) as { data: Record<string, unknown> }
  expect(auth['userpass/']).toBeUndefined()
  for (const path of ['old1', 'old2/metadata', 'old-local']) {
    expect((await client.send('LIST', path)).status, path).toBe(404)
  }
  expect((await client.send('GET', 'auth/token/lookup-self', { token: earlier.token })).status).toBe(403)
  const lookup = await client.send('POST', 'auth/token/lookup-accessor', { body: { accessor: earlier.accessor } })
  expect(errorsOf(lookup).join()).toContain('invalid accessor')
  for (const policy of earlier.policies)
    expect((await client.send('GET', `sys/policies/acl/${policy}`)).status).toBe(404)
  expect((await client.send('LIST', 'cubbyhole')).status).toBe(404)
}

it.each<Kind>(['performance', 'dr'])('an invalid activation token of kind %s wipes nothing', async (kind) => {
  const cluster = await clusters.add(`N-${kind}`)
  const { client } = cluster
  await client.write('sys/mounts/kept', { type: 'kv' })
  await client.write('kept/it', { word: 'still here' })
  const generations = generationsOf(cluster.dataDir)
  const issue = (id: string, more: object = {}) =>
    primary.client
      .write(`sys/replication/${kind}/primary/secondary-token`, { id: `${kind}-${id}`, ...more })
      .then(({ wrap_info }) => String((wrap_info as { token: string }).token))

  const expired = await issue('expired', { ttl: '1s' })
  const { exp } = JSON.parse(Buffer.from(expired.split('.')[1] ?? '', 'base64url').toString()) as { exp: number }
  const isPast = async () => (systemClock.now() >= (exp + 1) * 1000 ? undefined : 'it lives')
  await waitFor(systemClock, 'the token to expire', isPast, 90_000)
  const used = await issue('used')
  const unwrapped = await primary.client.send('PUT', 'sys/wrapping/unwrap', { token: used, body: {} })
  expect(unwrapped.status).toBe(200)
  const other: Kind = kind === 'dr' ? 'performance' : 'dr'
  const good = await issue('tampered')
  const tampered = [0, 1, 2].map((part) => {
    const parts = good.split('.')
    const text = parts[part] ?? ''
    const middle = Math.floor(text.length / 2)
    parts[part] = `${text.slice(0, middle)}${text[middle] === 'A' ? 'B' : 'A'}${text.slice(middle + 1)}`
    return [`tampered in part ${part + 1}`, parts.join('.')] as const
  })
  const tokens = new Map<string, unknown>([
    ['absent', undefined],
    ['empty', ''],
    ['no token at all', 'nonsense'],
    ['of another shape', { a: 1 }],
    ['an unknown one', 'hvs.CAESIJ1234567890abcdefghijk'],
    ['a client token', primary.rootToken],
    ['expired', expired],
    ['used', used],
    ['of the other kind', await secondaryToken(primary.client, other, `${kind}-other`)],
    ...tampered,
  ])
  const texts: string[] = []
  for (const [what, token] of tokens) {
    const answer = await client.send('POST', `sys/replication/${kind}/secondary/enable`, { body: { token } })
    expect([what, answer.status], errorsOf(answer).join()).toEqual([what, 400])
    expect((await cluster.status(kind)).mode, what).toBe('disabled')
    const { data } = await client.read('kept/it')
    expect(data, what).toEqual({ word: 'still here' })
    expect(generationsOf(cluster.dataDir), what).toEqual(generations)
    texts.push(`${what}: ${errorsOf(answer).join('; ')}`)
  }
  const lookup = await client.send('GET', 'auth/token/lookup-self')
  expect(lookup.status).toBe(200)
  console.log(`${kind}: ${tokens.size} bad tokens refused, nothing wiped\n  ${texts.join('\n  ')}`)

  await enableSecondary(client, kind, good)
  cluster.seal = { ...primary.seal, rootToken: '' }
  await clusters.untilReplicated(primary, cluster, kind)
})
