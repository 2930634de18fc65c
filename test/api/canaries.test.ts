import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { beforeAll, expect, it } from 'vitest'
import { type Cluster, openClusters } from '../support/clusters.js'
import { forEachOf } from '../support/load.js'
import { as, authOf, dataOf, wire, wrapInfoOf } from '../support/wire.js'

/** Length of a prefix that identifies a value; every value is longer. */
const HEAD = 12

/**
 * Secrets that must not occur in certain places. Each is searched in plain text, in base64, and as the internal ID in a
 * long token.
 */
class Canaries {
  readonly #kinds = new Map<string, number>()
  readonly #byHead = new Map<string, { readonly kind: string; readonly value: string }[]>()

  add(kind: string, value: string): string {
    this.#kinds.set(kind, (this.#kinds.get(kind) ?? 0) + 1)
    const inner = /hvs\.[0-9A-Za-z]{24}/.exec(Buffer.from(value.slice(4), 'base64url').toString('latin1'))?.[0]
    for (const form of [value, Buffer.from(value).toString('base64').replace(/=+$/, ''), ...(inner ? [inner] : [])]) {
      if (form.length < HEAD) throw new Error(`a ${kind} is too short to be looked for`)
      const head = form.slice(0, HEAD)
      this.#byHead.set(head, [...(this.#byHead.get(head) ?? []), { kind, value: form }])
    }
    return value
  }

  /** Number of secrets of each kind. */
  get counts(): Record<string, number> {
    return Object.fromEntries(this.#kinds)
  }

  /** Returns the kinds of the secrets in a text, except for those that belong there. */
  findIn(text: string): string[] {
    const found = new Set<string>()
    for (let at = 0; at + HEAD <= text.length; at++) {
      for (const { kind, value } of this.#byHead.get(text.slice(at, at + HEAD)) ?? []) {
        if (text.startsWith(value, at)) found.add(kind)
      }
    }
    return [...found].sort()
  }

  /** Like `findIn`, for a file or for all files of a directory. */
  findInFiles(place: string): string[] {
    if (!statSync(place).isDirectory()) return this.findIn(readFileSync(place, 'latin1'))
    const files = readdirSync(place, { recursive: true, encoding: 'utf8' }).map((name) => path.join(place, name))
    return files
      .filter((file) => statSync(file).isFile())
      .flatMap((file) => this.findIn(readFileSync(file, 'latin1')).map((kind) => `${kind} in ${file}`))
  }
}

/**
 * Secrets of every kind pass through a primary and its DR secondary, both with maximum logging. No log, audit file,
 * data file or response to a misplaced secret may contain any of them.
 */
const EACH = 200
const AT_ONCE = 20

const IN_PATH = 'secret in a path'
const canaries = new Canaries()
const clusters = openClusters()
let primary: Cluster
let dr: Cluster
let auditFile = ''
let root: ReturnType<typeof as>

const numbers = Array.from({ length: EACH }, (_, index) => index)
const each = (work: (index: number) => Promise<void>, count = EACH) => forEachOf(numbers.slice(0, count), AT_ONCE, work)
const chosen = (kind: string): string => canaries.add(kind, `canary-${randomBytes(12).toString('hex')}`)
const tokens: string[] = []

const makeSecrets = async (): Promise<void> => {
  const options = { file_path: auditFile }
  expect((await root('PUT', 'sys/audit/file', { type: 'file', options })).status).toBe(204)
  await root('POST', 'sys/mounts/one', { type: 'kv' })
  await root('POST', 'sys/mounts/two', { type: 'kv', options: { version: '2' } })
  await root('POST', 'sys/auth/approle', { type: 'approle' })
  await root('POST', 'sys/auth/userpass', { type: 'userpass' })
  await root('POST', 'auth/approle/role/app', { role_id: 'app', token_ttl: '1h' })
  await each(async (index) => {
    await root('PUT', `one/${index}`, { word: chosen('value of KV 1'), deep: [{ word: chosen('value of KV 1') }] })
    await root('PUT', `two/data/${index}`, { data: { word: chosen('value of KV 2') } })
    await root('PATCH', `two/data/${index}`, { data: { more: chosen('value of KV 2') } }, MERGE)
    expect((await root('GET', `one/${index}`)).status).toBe(200)
    expect((await root('GET', `two/data/${index}`)).status).toBe(200)
  })
  await each(async () => {
    const secretId = chosen('SecretID')
    await root('POST', 'auth/approle/role/app/custom-secret-id', { secret_id: secretId })
    const made = canaries.add(
      'SecretID',
      String(dataOf(await root('POST', 'auth/approle/role/app/secret-id')).secret_id),
    )
    for (const secret_id of [secretId, made]) {
      const login = await as(primary.apiAddress, '')('PUT', 'auth/approle/login', { role_id: 'app', secret_id })
      tokens.push(canaries.add('token', String(authOf(login).client_token)))
    }
    await root('POST', 'auth/approle/role/app/secret-id/lookup', { secret_id: made })
  })
  await each(async () => {
    const batch = authOf(await root('POST', 'auth/token/create', { type: 'batch', policies: ['default'] })).client_token
    canaries.add('batch token', String(batch))
    await root('POST', 'auth/token/lookup', { token: batch })
    const headers = { 'X-Vault-Wrap-TTL': '60' }
    const wrapped = wrapInfoOf(
      await root('POST', 'sys/wrapping/wrap', { word: chosen('wrapped value') }, headers),
    ).token
    canaries.add('wrapping token', String(wrapped))
    await as(primary.apiAddress, String(wrapped))('GET', 'sys/wrapping/lookup')
    expect((await root('PUT', 'sys/wrapping/unwrap', { token: wrapped })).status).toBe(200)
    await root('PUT', 'cubbyhole/x', { word: chosen('value of a cubbyhole') })
  })
  // Hashing a password is slow by design.
  await each(async (index) => {
    const password = chosen('password')
    expect((await root('POST', `auth/userpass/users/u${index}`, { password })).status).toBe(204)
    const login = await as(primary.apiAddress, '')('PUT', `auth/userpass/login/u${index}`, { password })
    canaries.add('token', String(authOf(login).client_token))
  }, EACH / 4)
}

const MERGE = { 'Content-Type': 'application/merge-patch+json' }

/** In sequence, because a cluster runs one ceremony at a time. */
const makeOtps = async (cluster: Cluster, kind: string, target: string): Promise<void> => {
  const send = as(cluster.apiAddress, '')
  for (let count = 0; count < EACH / 4; count++) {
    const attempt = (await send('PUT', `${target}/attempt`, {})).json
    const otp = canaries.add(`one-time password of a ${kind}`, String(attempt?.otp))
    let encoded: unknown
    for (const key of cluster.unsealKeys.slice(count, count + 2)) {
      encoded = (await send('PUT', `${target}/update`, { key, nonce: attempt?.nonce })).json?.encoded_token
    }
    const bytes = Buffer.from(String(encoded), 'base64')
    canaries.add(kind, Buffer.from(bytes.map((byte, index) => byte ^ otp.charCodeAt(index))).toString())
  }
}

beforeAll(async () => {
  const options = { logLevel: 'trace', shares: EACH }
  ;[primary, dr] = await Promise.all([clusters.add('A', options), clusters.add('C', { logLevel: 'trace' })])
  auditFile = path.join(path.dirname(primary.dataDir), 'audit.log')
  root = as(primary.apiAddress, primary.rootToken)
  canaries.add('root token', primary.rootToken)
  for (const key of primary.unsealKeys) canaries.add('unseal key', key)
  for (const key of primary.unsealKeys) canaries.add('unseal key', Buffer.from(key, 'hex').toString('base64'))
  await clusters.join(primary, dr, 'dr')
  await makeSecrets()
  await makeOtps(primary, 'root token', 'sys/generate-root')
  await makeOtps(dr, 'DR operation token', 'sys/replication/dr/secondary/generate-operation-token')
  await clusters.untilReplicated(primary, dr, 'dr')
})

/** Requests with a secret in the wrong place. Secrets in paths are separate, because an audit file contains paths. */
const WRONG: readonly ((secret: string) => readonly [string, string, string | undefined, Record<string, string>])[] = [
  (secret) => ['PUT', 'one/a', `{"word":"${secret}"`, {}],
  (secret) => ['PUT', 'one/a', `["${secret}"]`, {}],
  (secret) => ['PUT', 'one/a', `"${secret}"`, {}],
  (secret) => ['PUT', 'one/a', secret, {}],
  (secret) => ['PUT', 'sys/unseal', `{"key":"${secret}`, {}],
  (secret) => ['PUT', 'sys/unseal', `{"key":["${secret}"]}`, {}],
  (secret) => ['PUT', 'sys/generate-root/update', `{"key":"${secret}","nonce":"x"}`, {}],
  (secret) => ['PUT', 'sys/init', `{"secret_shares":"${secret}"}`, {}],
  (secret) => ['PUT', 'auth/approle/login', `{"role_id":"app","secret_id":"${secret}x"}`, {}],
  (secret) => ['PUT', 'auth/approle/login', `{"role_id":"app","secret_id":{"a":"${secret}"}}`, {}],
  (secret) => ['PUT', 'auth/approle/login', `{"role_id":"${secret}","secret_id":"x"}`, {}],
  (secret) => ['PUT', 'auth/userpass/login/u1', `{"password":"${secret}x"}`, {}],
  (secret) => ['PUT', 'auth/userpass/login/u1', `{"password":{"a":"${secret}"}}`, {}],
  (secret) => ['PUT', 'two/data/0', `{"data":"${secret}"}`, {}],
  (secret) => ['PUT', 'two/data/0', `{"options":{"cas":"${secret}"},"data":{}}`, {}],
  (secret) => ['PATCH', 'two/data/0', `{"data":{"a":"${secret}"}}`, {}],
  (secret) => ['POST', 'auth/token/lookup', `{"token":"${secret}x"}`, {}],
  (secret) => ['POST', 'auth/token/revoke', `{"token":["${secret}"]}`, {}],
  (secret) => ['POST', 'auth/approle/role/app/secret-id/lookup', `{"secret_id":{"a":"${secret}"}}`, {}],
  (secret) => ['POST', 'sys/wrapping/unwrap', `{"token":"${secret}x"}`, {}],
  (secret) => ['POST', 'sys/wrapping/lookup', `{"token":{"a":"${secret}"}}`, {}],
  (secret) => ['PUT', 'sys/replication/dr/secondary/promote', `{"dr_operation_token":"${secret}"}`, {}],
  (secret) => ['PUT', 'sys/replication/dr/secondary/enable', `{"token":"${secret}"}`, {}],
  (secret) => ['GET', 'sys/mounts', undefined, { 'X-Vault-Token': `${secret}x` }],
  (secret) => ['GET', 'sys/mounts', undefined, { Authorization: `Bearer ${secret}x` }],
  (secret) => ['GET', 'sys/mounts', undefined, { 'X-Vault-Namespace': secret }],
  (secret) => ['GET', 'sys/mounts', undefined, { 'X-Vault-Index': secret }],
  (secret) => ['GET', 'sys/mounts', undefined, { Cookie: secret, 'X-Vault-MFA': secret }],
]

it('the test has enough secrets of every kind', () => {
  for (const [kind, count] of Object.entries(canaries.counts))
    expect({ kind, count }).toSatisfy(() => count >= EACH / 4)
  expect(Object.keys(canaries.counts).length).toBeGreaterThanOrEqual(8)
})

it('no response repeats a secret in the wrong place of its request', async () => {
  const samples = ['value', 'token', 'password'].map((kind) => chosen(`misplaced ${kind}`))
  const used = [tokens[0] ?? '', primary.unsealKeys[7] ?? '', ...samples]
  const repeated: string[] = []
  for (const { apiAddress, rootToken } of [primary, dr]) {
    for (const secret of used) {
      for (const make of WRONG) {
        const [method, target, body, headers] = make(secret)
        const answer = await wire(apiAddress, { 'X-Vault-Token': rootToken, ...headers })(method, target, body)
        const where = `${method} ${target} ${Object.keys(headers)}: ${answer.status}`
        if (answer.status >= 500) repeated.push(where)
        // Responses repeat the namespace header, as clients expect.
        const { 'x-vault-namespace': _, ...others } = answer.headers
        if (canaries.findIn(answer.text + JSON.stringify(others)).length > 0) repeated.push(`${where} ${answer.text}`)
      }
    }
  }
  expect(repeated).toEqual([])
})

// A path that is not clean causes a redirect to the clean path, which contains it, as in Go's server.
it('the response to a rejected path does not repeat the path', async () => {
  const secret = chosen(IN_PATH)
  const inPaths = new Canaries()
  inPaths.add(IN_PATH, secret)
  for (const target of [secret, `one/${secret}`, `sys/${secret}`, `sys/wrapping/${secret}`, `one/a?x=${secret}`]) {
    const answer = await wire(primary.apiAddress)('GET', target)
    expect({ target, found: inPaths.findIn(answer.text) }).toEqual({ target, found: [] })
  }
})

it('the audit file and the logs contain no secret', async () => {
  expect(readFileSync(auditFile, 'utf8').split('\n').length).toBeGreaterThan(10 * EACH)
  // By contract, paths are in plain text. This also shows that the search works.
  expect(canaries.findInFiles(auditFile)).toEqual([IN_PATH])
  for (const { logFile } of [primary, dr]) {
    expect(statSync(logFile).size).toBeGreaterThan(1000)
    expect(canaries.findInFiles(logFile)).toEqual([])
  }
})

it('the files of the data directories contain no secret', async () => {
  for (const { server, dataDir } of [primary, dr]) {
    await server.stop()
    expect(canaries.findInFiles(dataDir)).toEqual([])
  }
})
