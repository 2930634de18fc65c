import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import net from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ApiClient } from '../../../src/client/api-client.js'
import { randomPorts } from '../../../src/lab/model/ports.js'
import type { Server } from '../../../src/server/server.js'
import { devFlags, localConfig } from '../../support/local-config.js'
import { startServer } from '../../support/memory-server.js'

/** A server in this process with one listener for each setting of a listener. */
const LISTENERS = {
  proxied: { proxy_protocol_behavior: 'use_always' },
  withoutAddresses: { redact_addresses: true },
  withoutName: { redact_cluster_name: 'true' },
  withoutVersion: { redact_version: 1 },
  chrooted: { chroot_namespace: '/team/' },
  nowhere: { chroot_namespace: 'nowhere' },
  quiet: { disable_replication_status_endpoints: true },
  redacted: { redact_addresses: true, redact_cluster_name: true, redact_version: true },
} as const
type Listener = keyof typeof LISTENERS

const ROOT = 'root'
const directory = mkdtempSync(path.join(tmpdir(), 'understudy-listeners-'))
const port = {} as Record<Listener | 'plain', number>
let server: Server
let root: ApiClient

beforeAll(async () => {
  const names = ['plain', ...Object.keys(LISTENERS)] as (Listener | 'plain')[]
  const pairs = await randomPorts(names)
  for (const name of names) port[name] = pairs.get(name)?.api ?? 0
  const plain = { api: port.plain, cluster: pairs.get('plain')?.cluster ?? 0 }
  const listener = Object.entries(LISTENERS).map(([name, settings]) => ({
    tcp: { address: `127.0.0.1:${port[name as Listener]}`, tls_disable: true, ...settings },
  }))
  const { api_addr, cluster_addr } = localConfig(plain)
  server = await startServer({ api_addr, cluster_addr, listener }, { flags: devFlags(plain, ROOT) })
  root = new ApiClient({ address: api_addr, token: ROOT })
})

afterAll(async () => {
  root?.close()
  await server?.close(0)
  rmSync(directory, { recursive: true, force: true })
})

interface Sent {
  readonly token?: string
  readonly body?: object
  readonly headers?: Readonly<Record<string, string>>
  /** Bytes that are sent before the request. */
  readonly proxy?: string
}

const pathOf = (target: string): string => {
  const { pathname, search } = new URL(target, 'http://a/v1/')
  return pathname + search
}

/** Sends a request to a listener on a new connection. */
const ask = async (listener: Listener | 'plain', verb: string, target: string, sent: Sent = {}) => {
  const { token, body, proxy = '', headers = {} } = sent
  const text = body ? JSON.stringify(body) : ''
  const lines = Object.entries({
    Host: 'a',
    Connection: 'close',
    'Content-Length': text.length,
    ...(token && { 'X-Vault-Token': token }),
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`)
  const socket = net.connect({ port: port[listener], host: '127.0.0.1' })
  await once(socket, 'connect')
  socket.write(`${proxy}${verb} ${pathOf(target)} HTTP/1.1\r\n${lines.join('')}\r\n${text}`)
  let received = ''
  for await (const chunk of socket) received += chunk
  const status = Number(received.split(' ')[1])
  const json = received.slice(received.indexOf('\r\n\r\n') + 4)
  return { status, json: json === '' ? undefined : JSON.parse(json) }
}

describe('PROXY protocol', () => {
  const proxy = 'PROXY TCP4 192.0.2.7 198.51.100.1 55555 443\r\n'
  const audit = path.join(directory, 'audit.log')

  beforeAll(async () => {
    await root.write('sys/audit/file', { type: 'file', options: { file_path: audit } })
    await root.write('sys/auth/approle', { type: 'approle' })
  })

  it('an audit entry has the client address and port of the PROXY header', async () => {
    await ask('proxied', 'GET', 'sys/mounts', { token: ROOT, proxy })
    const requests = readFileSync(audit, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).request)
    expect(requests.at(-1)).toMatchObject({ path: 'sys/mounts', remote_address: '192.0.2.7', remote_port: 55_555 })
  })

  it('the CIDR blocks of a token apply to the client address of the PROXY header', async () => {
    await root.write('auth/token/roles/bound', { token_bound_cidrs: ['192.0.2.0/24'] })
    const { json } = await ask('plain', 'POST', 'auth/token/create/bound', {
      token: ROOT,
      body: { policies: ['default'] },
    })
    const token = json.auth?.client_token
    expect(token).toBeDefined()
    const statusOf = async (listener: Listener | 'plain', header = '') =>
      (await ask(listener, 'GET', 'auth/token/lookup-self', { token, proxy: header })).status
    expect(await statusOf('proxied', proxy)).toBe(200)
    expect(await statusOf('proxied', proxy.replace('192.0.2.7', '192.0.3.7'))).toBe(403)
    expect(await statusOf('proxied')).toBe(403)
    expect(await statusOf('plain')).toBe(403)
  })

  it('the CIDR blocks of an AppRole apply to the client address of the PROXY header', async () => {
    await root.write('auth/approle/role/r', {
      secret_id_bound_cidrs: ['192.0.2.0/24'],
      token_bound_cidrs: ['192.0.2.7'],
    })
    const body = {
      role_id: (await ask('plain', 'GET', 'auth/approle/role/r/role-id', { token: ROOT })).json.data.role_id,
      secret_id: (await ask('plain', 'POST', 'auth/approle/role/r/secret-id', { token: ROOT })).json.data.secret_id,
    }
    const statusOf = async (header: string) =>
      (await ask('proxied', 'POST', 'auth/approle/login', { body, proxy: header })).status
    expect(await statusOf(proxy)).toBe(200)
    expect(await statusOf(proxy.replace('192.0.2.7', '192.0.2.8'))).not.toBe(200)
    expect(await statusOf('')).not.toBe(200)
  })
})

describe('redaction by a listener', () => {
  const PATHS = ['sys/health', 'sys/leader', 'sys/seal-status', 'team/sys/leader', 'team/sys/seal-status'] as const
  const bodiesOf = async (listener: Listener | 'plain') =>
    Promise.all(PATHS.map(async (target) => (await ask(listener, 'GET', target)).json))
  const CHANGING = ['server_time_utc', 'last_wal', 'raft_committed_index', 'raft_applied_index']
  const steady = (body: Record<string, unknown>) =>
    Object.fromEntries(Object.entries(body).filter(([name]) => !CHANGING.includes(name)))

  beforeAll(async () => {
    // A server shows its addresses only while it replicates, even with -dev.
    await root.write('sys/replication/dr/primary/enable', {})
    await root.write('sys/namespaces/team', {})
  })

  it.each<[Listener, (name: string) => boolean, (name: string) => boolean]>([
    ['withoutAddresses', (name) => name.endsWith('_address'), () => false],
    ['withoutName', () => false, (name) => name === 'cluster_name'],
    ['withoutVersion', (name) => name === 'version' || name === 'build_date', () => false],
    [
      'redacted',
      (name) => name.endsWith('_address') || name === 'version' || name === 'build_date',
      (name) => name === 'cluster_name',
    ],
  ])(
    'a redacting listener hides the configured fields of status responses: %s',
    async (listener, isEmpty, isAbsent) => {
      const plain = await bodiesOf('plain')
      const shown = await bodiesOf(listener)
      const expected = plain.map((body) =>
        Object.fromEntries(
          Object.entries(steady(body))
            .filter(([name]) => !isAbsent(name))
            .map(([name, value]) => [name, isEmpty(name) ? '' : value]),
        ),
      )
      expect(shown.map(steady)).toEqual(expected)
      expect(shown.map(steady)).not.toEqual(plain.map(steady))
    },
  )

  it('a plain listener shows all fields that redacting listeners hide', async () => {
    const [health, leader, sealStatus] = await bodiesOf('plain')
    expect(health).toMatchObject({ version: expect.stringMatching(/^1\./), cluster_name: expect.stringMatching(/./) })
    expect(leader.leader_address).toBe(`http://127.0.0.1:${port.plain}`)
    expect(leader.leader_cluster_address).toMatch(/^https:/)
    expect(sealStatus).toMatchObject({ cluster_name: health.cluster_name, build_date: expect.stringMatching(/^20/) })
  })

  it('a redacting listener hides the fields in unseal responses and in the OpenAPI document', async () => {
    const body = { key: 'ab'.repeat(33) }
    expect((await ask('plain', 'PUT', 'sys/unseal', { body })).json.version).not.toBe('')
    const { json } = await ask('redacted', 'PUT', 'sys/unseal', { body })
    expect(json).toMatchObject({ sealed: false, version: '', build_date: '' })
    expect(json).not.toHaveProperty('cluster_name')
    expect((await ask('plain', 'GET', 'sys/internal/specs/openapi')).json.info.version).not.toBe('')
    expect((await ask('redacted', 'GET', 'sys/internal/specs/openapi')).json.info.version).toBe('')
  })

  it('a redacting listener hides the fields in the /_understudy/v1 endpoints', async () => {
    const own = (listener: Listener | 'plain', target: string) => ask(listener, 'GET', `../_understudy/v1/${target}`)
    expect((await own('redacted', 'info')).json).toMatchObject({ name: '', version: '', reported_version: '' })
    expect((await own('withoutName', 'info')).json).toMatchObject({ name: '', version: expect.stringMatching(/./) })
    expect((await own('redacted', 'openapi.json')).json.info.version).toBe('')
    for (const listener of ['withoutAddresses', 'withoutName', 'withoutVersion', 'redacted'] as const)
      expect((await own(listener, 'events')).status).toBe(404)
  })

  it('a redacting listener does not change a secret whose path ends like a status path', async () => {
    await root.write('secret/data/sys/leader', { data: { leader_address: 'kept', version: 'kept' } })
    const { json } = await ask('redacted', 'GET', 'secret/data/sys/leader', { token: ROOT })
    expect(json.data.data).toEqual({ leader_address: 'kept', version: 'kept' })
  })
})

describe('disabled replication status endpoints', () => {
  const PATHS = ['', 'dr/', 'performance/'].flatMap((kind) =>
    ['', 'team/'].map((prefix) => `${prefix}sys/replication/${kind}status`),
  )

  it.each(PATHS)(
    'a listener without replication status endpoints answers 404 for every method and token: %s',
    async (target) => {
      expect((await ask('plain', 'GET', target)).status).toBe(200)
      for (const token of [undefined, ROOT]) {
        for (const [verb, more] of [
          ['GET', ''],
          ['GET', '?help=1'],
          ['PUT', ''],
          ['PATCH', ''],
          ['DELETE', ''],
        ] as const) {
          const headers = verb === 'PATCH' ? { 'Content-Type': 'application/merge-patch+json' } : {}
          const answer = await ask('quiet', verb, target + more, { ...(token && { token }), headers, body: {} })
          expect([verb, more, token, answer.status, answer.json]).toEqual([
            verb,
            more,
            token,
            404,
            { errors: ['disabled path'] },
          ])
        }
      }
    },
  )

  it('a listener without replication status endpoints serves other replication paths, and other listeners the status', async () => {
    expect((await ask('quiet', 'GET', 'sys/health')).json.replication_dr_mode).toBe('primary')
    expect((await ask('quiet', 'PUT', 'sys/replication/reindex')).status).toBe(403)
    expect((await ask('redacted', 'GET', 'sys/replication/status')).status).toBe(200)
    expect((await ask('quiet', 'GET', '../_understudy/v1/events')).status).toBe(404)
  })
})

describe('a listener with a chroot namespace', () => {
  const token = ROOT
  const within = (namespace: string) => ({ token, headers: { 'X-Vault-Namespace': namespace } })

  beforeAll(async () => {
    for (const path of ['team', 'team/deep', 'other']) await root.write(`sys/namespaces/${path}`, {})
    expect((await ask('chrooted', 'POST', 'sys/mounts/kv', { token, body: { type: 'kv' } })).status).toBe(204)
    expect((await ask('plain', 'POST', 'sys/mounts/kv', { ...within('team/deep'), body: { type: 'kv' } })).status).toBe(
      204,
    )
  })

  it('a chroot listener resolves paths, prefixes and X-Vault-Namespace below its namespace', async () => {
    await ask('plain', 'PUT', 'kv/a', { ...within('team'), body: { in: 'team' } })
    await ask('plain', 'PUT', 'kv/a', { ...within('team/deep'), body: { in: 'deep' } })
    const read = async (target: string, namespace?: string) => {
      const sent = namespace === undefined ? { token } : within(namespace)
      return (await ask('chrooted', 'GET', target, sent)).json.data
    }
    for (const namespace of [undefined, '', '/', '//', 'root', '/root/'])
      expect(await read('kv/a', namespace)).toEqual({ in: 'team' })
    expect(await read('kv/a', '/deep/')).toEqual({ in: 'deep' })
    expect(await read('deep/kv/a')).toEqual({ in: 'deep' })
    expect((await ask('chrooted', 'LIST', 'sys/namespaces', { token })).json.data.keys).toEqual(['deep/'])
  })

  it.each(['team', 'other', 'nothing', '../other', '..', 'deep/../../other', 'team/deep'])(
    'a chroot listener rejects a namespace header outside of its namespace: %j',
    async (namespace) => {
      const { status, json } = await ask('chrooted', 'GET', 'sys/mounts', within(namespace))
      expect([status, json]).toEqual([404, { errors: ['namespace not found'] }])
    },
  )

  it.each([
    ['GET', 'sys/init'],
    ['PUT', 'sys/seal'],
    ['GET', 'sys/audit'],
    ['GET', 'sys/generate-root/attempt'],
    ['GET', 'sys/license/status'],
    ['GET', 'sys/storage/raft/configuration'],
    ['PUT', 'sys/replication/dr/primary/demote'],
    ['PUT', 'deep/sys/seal'],
  ])(
    'a chroot listener rejects operations of the root namespace as a child namespace does: %s %s',
    async (verb, target) => {
      const refusal = await ask('plain', verb, target, { ...within('team'), body: {} })
      expect(refusal).toMatchObject({ status: 400, json: { errors: ['operation unavailable in namespaces'] } })
      expect(await ask('chrooted', verb, target, { token, body: {} })).toEqual(refusal)
    },
  )

  it('a chroot listener serves status endpoints', async () => {
    for (const target of ['sys/health', 'sys/leader', 'sys/seal-status', 'sys/replication/status'])
      expect((await ask('chrooted', 'GET', target)).status).toBe(200)
  })

  it('a chroot listener uses the logins and tokens of its namespace', async () => {
    await ask('chrooted', 'POST', 'sys/auth/userpass', { token, body: { type: 'userpass' } })
    await ask('chrooted', 'POST', 'auth/userpass/users/ann', { token, body: { password: 'secret' } })
    const login = { body: { password: 'secret' } }
    expect((await ask('plain', 'POST', 'auth/userpass/login/ann', login)).status).not.toBe(200)
    const { json } = await ask('chrooted', 'POST', 'auth/userpass/login/ann', login)
    const own = json.auth.client_token
    expect((await ask('chrooted', 'GET', 'auth/token/lookup-self', { token: own })).json.data.namespace_path).toBe(
      'team/',
    )
    const made = await ask('plain', 'POST', 'auth/token/create', {
      ...within('other'),
      body: { policies: ['default'] },
    })
    const foreign = made.json.auth.client_token
    expect((await ask('chrooted', 'GET', 'auth/token/lookup-self', { token: foreign })).status).toBe(403)
  })

  it('a chroot listener accepts a large body with a token of its namespace', async () => {
    const large = { value: 'x'.repeat(200_000) }
    const made = await ask('chrooted', 'POST', 'auth/token/create', { token, body: { policies: ['default'] } })
    const own = made.json.auth.client_token
    expect((await ask('chrooted', 'PUT', 'cubbyhole/large', { token: own, body: large })).status).toBe(204)
    expect(
      (await ask('plain', 'GET', 'cubbyhole/large', { token: own, headers: { 'X-Vault-Namespace': 'team' } })).json
        .data,
    ).toEqual(large)
  })

  it('audit lines are readable only in the root namespace, not through a chroot listener', async () => {
    expect((await ask('plain', 'GET', '../_understudy/v1/audit', { token })).status).toBe(200)
    expect((await ask('chrooted', 'GET', '../_understudy/v1/audit', { token })).status).not.toBe(200)
  })

  it('a chroot listener rejects every request if its namespace does not exist', async () => {
    for (const target of ['sys/health', 'sys/leader', 'sys/seal-status', 'sys/mounts', 'kv/a', 'sys/init'])
      expect(await ask('nowhere', 'GET', target, { token })).toEqual({
        status: 404,
        json: { errors: ['namespace not found'] },
      })
  })
})
