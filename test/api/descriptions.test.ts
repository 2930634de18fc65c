import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type OpenServerProcess, startOpenServerProcess } from '../support/server-process.js'
import { as, DENIED, type Json, refusalOf } from '../support/wire.js'

/** The self-description of a server: metrics in both formats, and the OpenAPI document of its paths. */
let server: OpenServerProcess
let root: ReturnType<typeof as>

beforeAll(async () => {
  server = await startOpenServerProcess()
  root = as(server.address, server.rootToken)
})
afterAll(() => server?.[Symbol.asyncDispose]())

const GAUGES = [
  'vault.core.active',
  'vault.core.unsealed',
  'vault.core.performance_standby',
  'vault.core.replication.performance.primary',
  'vault.core.replication.performance.secondary',
  'vault.core.replication.dr.primary',
  'vault.core.replication.dr.secondary',
  'vault.core.replication.write_undo_logs',
  'vault.replication.wal.last_wal',
  'vault.replication.wal.last_dr_wal',
  'vault.replication.wal.last_performance_wal',
  'vault.replication.wal.gc',
  'vault.wal.gc.total',
  'vault.replication.fsm.last_remote_wal',
  'vault.replication.fsm.last_upstream_remote_wal',
  'vault.replication.merkle.commit_index',
  'vault.expire.num_leases',
  'vault.token.count',
]

describe('metrics', () => {
  const namesIn = (list: unknown): string[] => (list as { Name: string }[]).map(({ Name }) => Name)

  it('sys/metrics in JSON names every gauge', async () => {
    const { json } = await root('GET', 'sys/metrics')
    expect(Object.keys(json ?? {})).toEqual(['Timestamp', 'Gauges', 'Points', 'Counters', 'Samples'])
    expect(namesIn(json?.Gauges)).toEqual(expect.arrayContaining(GAUGES))
    expect(json).not.toHaveProperty('request_id')
  })

  it.each([
    ['a query', '?format=prometheus', {}],
    ['a media type', '', { Accept: 'application/openmetrics-text' }],
  ])('sys/metrics in the Prometheus text format, requested by %s, has the same names', async (_, query, headers) => {
    await root('GET', 'sys/mounts')
    const answer = await root('GET', `sys/metrics${query}`, undefined, headers)
    expect([answer.status, answer.headers['content-type']]).toEqual([200, expect.stringMatching(/^text\/plain/)])
    const names = new Set(answer.text.split('\n').map((line) => /^[a-z_]+/.exec(line)?.[0]))
    expect(GAUGES.map((name) => name.replaceAll('.', '_')).filter((name) => !names.has(name))).toEqual([])
    expect(answer.text).toContain('vault_core_handle_request_count')
    for (const line of answer.text.split('\n')) expect(line).toMatch(/^$|^# |^[a-zA-Z_:]+(\{[^}]*\})? \S+$/)
  })

  it('metrics follow what happens', async () => {
    const count = async () =>
      Number(/^vault_token_count (\d+)/m.exec((await root('GET', 'sys/metrics?format=prometheus')).text)?.[1])
    const before = await count()
    await root('POST', 'auth/token/create', { policies: ['default'] })
    expect(await count()).toBe(before + 1)
  })

  it('sys/metrics rejects an unknown format in plain text', async () => {
    const { status, text } = await root('GET', 'sys/metrics?format=xml')
    expect([status, text]).toEqual([400, 'metric response format "xml" unknown'])
  })

  it('sys/metrics needs a token, unless the listener allows unauthenticated access', async () => {
    expect(refusalOf(await as(server.address, '')('GET', 'sys/metrics'))).toEqual([403, ['permission denied']])
    const made = await root('POST', 'auth/token/create', { policies: ['default'] })
    const weak = as(server.address, String(made.json?.auth.client_token))
    expect(refusalOf(await weak('GET', 'sys/metrics'))).toEqual([403, [DENIED]])
  })
})

describe('the OpenAPI document', () => {
  const document = async (): Promise<Json & { paths: Record<string, Record<string, Json>> }> =>
    (await as(server.address, server.rootToken)('GET', 'sys/internal/specs/openapi')).json as never

  it('the OpenAPI document is valid and describes each operation with a summary and responses', async () => {
    const { openapi, info, paths } = await document()
    expect([openapi, (info as Json).title]).toEqual([expect.stringMatching(/^3\./), expect.any(String)])
    for (const [path, operations] of Object.entries(paths)) {
      expect(path).toMatch(/^\//)
      for (const method of ['get', 'post', 'delete', 'patch']) {
        const operation = operations[method]
        if (operation)
          expect({ path, method, operation }).toMatchObject({ operation: { responses: expect.any(Object) } })
      }
    }
  })

  it('the OpenAPI document names the parameters of every path', async () => {
    const missing: string[] = []
    for (const [path, operations] of Object.entries((await document()).paths)) {
      const named = ((operations.parameters ?? []) as unknown as { name: string; in: string }[])
        .filter((parameter) => parameter.in === 'path')
        .map(({ name }) => name)
      const wanted = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)
      if (wanted.toSorted().join() !== named.toSorted().join()) missing.push(`${path}: ${named}`)
    }
    expect(missing).toEqual([])
  })

  it('the OpenAPI document grows with a mount and shrinks without it', async () => {
    const below = async () => Object.keys((await document()).paths).filter((path) => path.startsWith('/extra/'))
    expect(await below()).toEqual([])
    await root('POST', 'sys/mounts/extra', { type: 'kv', options: { version: '2' } })
    expect(await below()).toContain('/extra/data/{path}')
    await root('DELETE', 'sys/mounts/extra')
    expect(await below()).toEqual([])
  })

  it('no path of the OpenAPI document answers as unsupported', async () => {
    await root('POST', 'sys/auth/approle', { type: 'approle' })
    await root('POST', 'sys/mounts/two', { type: 'kv', options: { version: '2' } })
    const wrong: string[] = []
    // The response of sys/monitor ends only with its client.
    for (const path of Object.keys((await document()).paths).filter((one) => one !== '/sys/monitor')) {
      const target = `/v1${path.replaceAll(/\{\w+\}/g, 'none')}`
      const answer = await root('GET', target)
      if (answer.status >= 500 || answer.text.includes('unsupported path')) wrong.push(`${path} ${answer.text}`)
    }
    expect(wrong).toEqual([])
  })
})
