import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { get, type IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { LogControl } from '../../../src/base/log-control.js'
import { createPinoLog } from '../../../src/base/pino-log.js'
import type { Server } from '../../../src/server/server.js'
import { ANY_PORTS, localConfig } from '../../support/local-config.js'
import { startOpenServer } from '../../support/memory-server.js'
import { until } from '../../support/until.js'
import { as, authOf, dataOf, DENIED, refusalOf, wire } from '../../support/wire.js'

/** Paths below sys with which operators look after one server: logs, profiles, headers, keys and snapshots. */
const directory = mkdtempSync(path.join(tmpdir(), 'understudy-test-'))
const lines: string[] = []
let server: Server
let address: string
let rootToken: string
let control: LogControl
let root: ReturnType<typeof as>

const createLog = (write: (line: string) => void) =>
  createPinoLog({ level: 'info', format: 'json', sink: { dropped: 0, write } })

beforeAll(async () => {
  const log = createLog((line) => void lines.push(line))
  const raft = localConfig(ANY_PORTS, { ui: true, storage: { raft: { path: directory, node_id: 'one' } } })
  const started = await startOpenServer({ log }, raft)
  server = started.server
  control = log.control
  rootToken = started.rootToken
  address = `http://${server.addresses[0]}`
  root = as(address, rootToken)
})
afterAll(async () => {
  await server?.close(0)
  rmSync(directory, { recursive: true })
})

/** Returns a client whose token has one policy. */
const limited = async (name: string, policy: string) => {
  await root('PUT', `sys/policies/acl/${name}`, { policy })
  const made = authOf(await root('POST', 'auth/token/create', { policies: [name] }))
  return as(address, String(made.client_token))
}

/** Opens a stream, whose head has arrived. */
const openStream = (target: string, at = address, token = rootToken): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    get(`${at}/v1/${target}`, { headers: { 'X-Vault-Token': token } }, resolve).on('error', reject)
  })

/** Returns a function that returns the text received so far. */
const collect = (stream: IncomingMessage): (() => string) => {
  let text = ''
  stream.on('data', (chunk: Buffer) => {
    text += chunk.toString()
  })
  return () => text
}

describe('sys/loggers', () => {
  const all = (level: string) => ({ audit: level, core: level, expiration: level, replication: level })

  it('levels change at run time, for all loggers or for one, and return to the configured level', async () => {
    expect(dataOf(await root('GET', 'sys/loggers'))).toEqual(all('info'))
    expect((await root('POST', 'sys/loggers', { level: 'debug' })).status).toBe(204)
    expect(dataOf(await root('GET', 'sys/loggers'))).toEqual(all('debug'))
    await root('POST', 'sys/loggers/audit', { level: 'err' })
    expect(dataOf(await root('GET', 'sys/loggers/audit'))).toEqual({ audit: 'error' })
    expect((await root('DELETE', 'sys/loggers/audit')).status).toBe(204)
    expect(dataOf(await root('GET', 'sys/loggers'))).toEqual({ ...all('debug'), audit: 'info' })
    await root('DELETE', 'sys/loggers')
    expect(dataOf(await root('GET', 'sys/loggers'))).toEqual(all('info'))
  })

  it('the level decides which lines the server logs', async () => {
    const answered = () => lines.filter((line) => line.includes('a request was answered')).length
    const before = answered()
    await root('GET', 'sys/mounts')
    expect(answered()).toBe(before)
    await root('POST', 'sys/loggers/core', { level: 'debug' })
    await root('GET', 'sys/mounts')
    await root('DELETE', 'sys/loggers')
    expect(answered()).toBeGreaterThan(before)
  })

  it('unknown levels and loggers are rejected', async () => {
    expect(refusalOf(await root('POST', 'sys/loggers', { level: 'loud' }))).toEqual([
      400,
      ['invalid level provided: unknown log level: loud'],
    ])
    expect(refusalOf(await root('POST', 'sys/loggers', {}))).toEqual([400, ['level is required']])
    expect(refusalOf(await root('GET', 'sys/loggers/moon'))).toEqual([400, ['logger "moon" not found']])
  })
})

describe('sys/monitor', () => {
  it('streams the lines of its level as text or JSON, without changing what the server logs', async () => {
    const before = lines.length
    const text = await openStream('sys/monitor?log_level=debug')
    const json = await openStream('sys/monitor?log_level=debug&log_format=json')
    expect(text.headers['content-type']).toBe('text/plain; charset=utf-8')
    const [seenText, seenJson] = [collect(text), collect(json)]
    await root('GET', 'sys/mounts')
    await until(() => seenText().includes('a request was answered') && seenJson().includes('a request was answered'))
    expect(seenText()).toMatch(/^\S+ \[DEBUG\] a request was answered request_id=\S+ operation=\w+$/m)
    expect(JSON.parse(seenJson().split('\n')[0] ?? '')).toMatchObject({ level: 'debug' })
    expect(lines).toHaveLength(before)
    text.destroy()
    json.destroy()
  })

  it('a reader that disconnects ends its stream', async () => {
    const stream = await openStream('sys/monitor?log_level=trace')
    expect(control.isWanted('core', 'trace')).toBe(true)
    stream.destroy()
    await until(() => control.isWanted('core', 'trace') === false)
  })

  it('more than ten streams cause no warning of the process', async () => {
    const warnings: Error[] = []
    const note = (warning: Error) => void warnings.push(warning)
    process.on('warning', note)
    const streams = await Promise.all(Array.from({ length: 12 }, () => openStream('sys/monitor')))
    for (const stream of streams) stream.destroy()
    // Warnings are emitted in the next turn.
    await new Promise((resolve) => setImmediate(resolve))
    process.off('warning', note)
    expect(warnings).toEqual([])
  })

  it('ends when the server stops', async () => {
    const stopped = await startOpenServer({ log: createLog(() => {}) })
    const stream = await openStream('sys/monitor', `http://${stopped.server.addresses[0]}`, stopped.rootToken)
    const ended = new Promise((resolve) => stream.once('end', resolve))
    stream.resume()
    await stopped.server.close()
    await ended
  })

  it('requires sudo, a known level and a known format', async () => {
    const weak = await limited('monitor', 'path "sys/monitor" { capabilities = ["read"] }')
    expect(refusalOf(await weak('GET', 'sys/monitor'))).toEqual([403, [DENIED]])
    expect((await root('GET', 'sys/monitor?log_level=loud')).status).toBe(400)
    expect((await root('GET', 'sys/monitor?log_format=xml')).status).toBe(400)
  })
})

describe('sys/config/cors', () => {
  const page = { Origin: 'https://page.test' }
  const preflight = { ...page, 'Access-Control-Request-Method': 'PUT' }

  it('without a configuration, an origin has no effect', async () => {
    expect(dataOf(await root('GET', 'sys/config/cors'))).toEqual({ enabled: false })
    const answer = await root('GET', 'sys/mounts', undefined, page)
    expect(answer.status).toBe(200)
    expect(answer.headers['access-control-allow-origin']).toBeUndefined()
    expect((await wire(address)('OPTIONS', 'sys/mounts', undefined, preflight)).status).toBe(405)
  })

  it('answers preflight requests, and allows the origins and headers of the configuration', async () => {
    const body = { allowed_origins: 'https://page.test,https://other.test', allowed_headers: ['X-Own'] }
    expect((await root('POST', 'sys/config/cors', body)).status).toBe(204)
    const read = dataOf(await root('GET', 'sys/config/cors'))
    expect(read).toMatchObject({ enabled: true, allowed_origins: ['https://page.test', 'https://other.test'] })
    expect(read.allowed_headers).toEqual(expect.arrayContaining(['X-Vault-Token', 'X-Own']))
    const asked = await wire(address)('OPTIONS', 'sys/mounts', undefined, preflight)
    expect(asked.status).toBe(204)
    expect(asked.headers).toMatchObject({
      'access-control-allow-origin': 'https://page.test',
      'access-control-allow-methods': 'DELETE, GET, OPTIONS, POST, PUT, LIST',
      'access-control-max-age': '300',
      vary: 'Origin',
    })
    expect(asked.headers['access-control-allow-headers']?.split(', ')).toEqual(read.allowed_headers)
    const denied = await wire(address)('GET', 'sys/mounts', undefined, page)
    expect([denied.status, denied.headers['access-control-allow-origin']]).toEqual([403, 'https://page.test'])
  })

  it('rejects other origins and methods, but neither its own page nor a client without an origin', async () => {
    await root('POST', 'sys/config/cors', { allowed_origins: ['https://page.test'] })
    const foreign = { Origin: 'https://foreign.test' }
    expect(refusalOf(await root('GET', 'sys/health', undefined, foreign))).toEqual([403, ['origin not allowed']])
    const trace = { ...page, 'Access-Control-Request-Method': 'TRACE' }
    expect((await wire(address)('OPTIONS', 'sys/mounts', undefined, trace)).status).toBe(405)
    expect((await root('GET', 'sys/mounts')).status).toBe(200)
    expect((await root('GET', 'sys/mounts', undefined, { Origin: address })).status).toBe(200)
    await root('POST', 'sys/config/cors', { allowed_origins: '*' })
    expect((await root('GET', 'sys/mounts', undefined, foreign)).status).toBe(200)
  })

  it('rejects an empty or mixed list of origins, and ends with its deletion', async () => {
    expect((await root('POST', 'sys/config/cors', {})).status).toBe(400)
    expect((await root('POST', 'sys/config/cors', { allowed_origins: '*,https://page.test' })).status).toBe(400)
    expect((await root('DELETE', 'sys/config/cors')).status).toBe(204)
    expect(dataOf(await root('GET', 'sys/config/cors'))).toEqual({ enabled: false })
    const weak = await limited('cors', 'path "sys/config/cors" { capabilities = ["read", "update"] }')
    expect(refusalOf(await weak('GET', 'sys/config/cors'))).toEqual([403, [DENIED]])
  })
})

describe('sys/config/ui/headers', () => {
  const at = 'sys/config/ui/headers'

  it('the page of the server has the configured headers, and the API has not', async () => {
    expect((await root('PUT', `${at}/x-own`, { values: ['one', 'two'] })).status).toBe(204)
    await root('PUT', `${at}/X-Frame-Options`, { values: ['SAMEORIGIN'] })
    expect(dataOf(await root('LIST', at))).toEqual({ keys: ['X-Frame-Options', 'X-Own'] })
    expect(dataOf(await root('GET', `${at}/X-OWN`))).toEqual({ value: 'one' })
    expect(dataOf(await root('GET', `${at}/X-Own?multivalue=true`))).toEqual({ values: ['one', 'two'] })
    const ui = await wire(address)('GET', '/ui/', undefined, { Accept: 'text/html' })
    expect(ui.headers).toMatchObject({ 'x-own': 'one, two' })
    expect((await root('GET', 'sys/mounts')).headers['x-own']).toBeUndefined()
    for (const name of ['X-Own', 'X-Frame-Options']) expect((await root('DELETE', `${at}/${name}`)).status).toBe(204)
    expect(refusalOf(await root('GET', `${at}/X-Own`))).toEqual([404, []])
    expect((await wire(address)('GET', '/ui/')).headers['x-own']).toBeUndefined()
  })

  it('rejects headers of Vault, of the connection, and invalid names and values', async () => {
    const refused = async (name: string, values = ['a']) => refusalOf(await root('PUT', `${at}/${name}`, { values }))
    expect(await refused('X-Vault-Token')).toEqual([400, ['X-Vault headers cannot be set']])
    expect(await refused('content-length')).toEqual([400, ['the server sets the header "content-length" itself']])
    expect(await refused('X-Own', ['a\nb'])).toEqual([400, ['"a\\nb" cannot be the value of a header']])
    expect(await refused('X-Own', [])).toEqual([400, ['header and values must be specified']])
    const weak = await limited('headers', `path "${at}/*" { capabilities = ["read", "update", "list"] }`)
    expect(refusalOf(await weak('GET', `${at}/X-Own`))).toEqual([403, [DENIED]])
  })
})

describe('keys and seals', () => {
  it('sys/rotate/config has the documented default, and keeps valid changes', async () => {
    const at = 'sys/rotate/config'
    expect(dataOf(await root('GET', at))).toEqual({ enabled: true, interval: 0, max_operations: 3_865_470_566 })
    expect((await root('POST', at, { interval: '4320h', max_operations: 2_000_000_000 })).status).toBe(204)
    expect((await root('POST', at, { enabled: false })).status).toBe(204)
    const changed = { enabled: false, interval: '4320h0m0s', max_operations: 2_000_000_000 }
    expect(dataOf(await root('GET', at))).toEqual(changed)
    expect(refusalOf(await root('POST', at, { interval: '23h' }))).toEqual([
      400,
      ['interval must be greater or equal to 24h0m0s'],
    ])
    expect((await root('POST', at, { max_operations: 999_999 })).status).toBe(400)
    expect(dataOf(await root('GET', at))).toEqual(changed)
  })

  it('sys/seal-backend-status needs no token', async () => {
    const answer = await wire(address)('GET', 'sys/seal-backend-status')
    expect(answer.json).toEqual({ healthy: true, backends: [{ name: 'shamir', healthy: true }] })
  })

  it('sys/sealwrap/rewrap has nothing to do without an auto-unseal seal', async () => {
    expect((await root('POST', 'sys/sealwrap/rewrap')).status).toBe(204)
    const entries = { processed: 0, succeeded: 0, failed: 0 }
    expect(dataOf(await root('GET', 'sys/sealwrap/rewrap'))).toEqual({ entries, is_running: false })
  })

  it('sys/config/group-policy-application has one mode', async () => {
    const at = 'sys/config/group-policy-application'
    const mode = { group_policy_application_mode: 'within_namespace_hierarchy' }
    expect(dataOf(await root('GET', at))).toEqual(mode)
    expect((await root('POST', at, mode)).status).toBe(204)
    const any = 'the mode "any" is not supported: use within_namespace_hierarchy'
    expect(refusalOf(await root('POST', at, { group_policy_application_mode: 'any' }))).toEqual([400, [any]])
  })
})

describe('sys/pprof', () => {
  it('shows the command line and the active resources, and rejects the profiles of Go by name', async () => {
    expect((await root('GET', 'sys/pprof/')).text).toContain('goroutine')
    expect((await root('GET', 'sys/pprof/cmdline')).text.split('\0')[0]).toBe(process.argv[0])
    expect((await root('GET', 'sys/pprof/goroutine?debug=2')).text).toMatch(/^Node\.js has no goroutines[\s\S]*\d+ TCP/)
    const heap = 'the profile heap is not supported: the server runs on Node.js, which has no profiles of Go'
    expect(refusalOf(await root('GET', 'sys/pprof/heap'))).toEqual([400, [heap]])
    const weak = await limited('pprof', 'path "sys/pprof/*" { capabilities = ["read"] }')
    expect(refusalOf(await weak('GET', 'sys/pprof/cmdline'))).toEqual([403, [DENIED]])
  })
})

describe('sys/internal/ui', () => {
  it('lists the namespaces that the token can access, below the namespace of the request', async () => {
    for (const name of ['team', 'other']) await root('POST', `sys/namespaces/${name}`)
    await as(address, rootToken, { 'X-Vault-Namespace': 'team' })('POST', 'sys/namespaces/sub')
    expect(dataOf(await root('GET', 'sys/internal/ui/namespaces'))).toEqual({ keys: ['other/', 'team/', 'team/sub/'] })
    const inTeam = await root('GET', 'sys/internal/ui/namespaces', undefined, { 'X-Vault-Namespace': 'team' })
    expect(dataOf(inTeam)).toEqual({ keys: ['sub/'] })
    const weak = await limited('sub', 'path "team/sub/kv/*" { capabilities = ["read"] }')
    expect(dataOf(await weak('GET', 'sys/internal/ui/namespaces'))).toEqual({ keys: ['team/', 'team/sub/'] })
    expect((await wire(address)('GET', 'sys/internal/ui/namespaces')).status).toBe(403)
  })

  it('shows the access rules of the token, the version and the feature flags', async () => {
    expect(dataOf(await root('GET', 'sys/internal/ui/resultant-acl'))).toEqual({ root: true, chroot_namespace: '' })
    const policy = 'path "kv/a" { capabilities = ["read"] } path "kv/b/*" { capabilities = ["list"] }'
    const weak = await limited('rules', policy)
    expect(dataOf(await weak('GET', 'sys/internal/ui/resultant-acl'))).toMatchObject({
      exact_paths: { 'kv/a': { capabilities: ['read'] }, 'auth/token/lookup-self': { capabilities: ['read'] } },
      glob_paths: { 'kv/b/': { capabilities: ['list'] } },
    })
    expect(dataOf(await root('GET', 'sys/internal/ui/version')).version).toMatch(/^\d+\.\d+\.\d+/)
    expect((await wire(address)('GET', 'sys/internal/ui/feature-flags')).json).toEqual({ feature_flags: null })
  })
})

describe('sys/storage/raft/snapshot-auto', () => {
  const at = 'sys/storage/raft/snapshot-auto'
  const config = () => ({
    interval: '1s',
    retain: 2,
    path_prefix: path.join(directory, 'saved'),
    storage_type: 'local',
    local_max_space: 10_000_000,
  })

  it('saves snapshots at intervals, keeps some of them, and shows the last one', async () => {
    expect((await root('POST', `${at}/config/hourly`, config())).status).toBe(204)
    expect(dataOf(await root('LIST', `${at}/config`))).toEqual({ keys: ['hourly'] })
    expect(dataOf(await root('GET', `${at}/config/hourly`))).toEqual({
      ...config(),
      interval: 1,
      file_prefix: 'vault-snapshot',
    })
    const status = async () => dataOf(await root('GET', `${at}/status/hourly`))
    await until(async () => (await status()).last_snapshot_url !== '')
    const saved = await status()
    expect(saved).toMatchObject({ last_snapshot_error: '', snapshot_url: saved.last_snapshot_url })
    expect(saved.last_snapshot_url).toMatch(/^file:\/\/.*\/saved\/vault-snapshot-\d{19}\.snap$/)
    expect(readdirSync(path.join(directory, 'saved')).length).toBeLessThanOrEqual(2)
    expect((await root('DELETE', `${at}/config/hourly`)).status).toBe(204)
    expect(refusalOf(await root('GET', `${at}/status/hourly`))).toEqual([404, []])
  })

  it('rejects other storage types by name, and incomplete configurations', async () => {
    const refused = async (body: object) => refusalOf(await root('POST', `${at}/config/x`, { ...config(), ...body }))
    const text = 'the storage type "aws-s3" is not supported: use local'
    expect(await refused({ storage_type: 'aws-s3' })).toEqual([400, [text]])
    expect(await refused({ interval: 0 })).toEqual([400, ['interval must be at least 1s']])
    expect(await refused({ file_prefix: '../x' })).toEqual([400, ['file_prefix must be a file name']])
    expect(await refused({ local_max_space: 0 })).toEqual([400, ['local_max_space must be at least 1']])
    expect(refusalOf(await root('GET', `${at}/config/x`))).toEqual([404, []])
  })
})
