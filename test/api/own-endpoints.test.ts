import { renameSync } from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { describeOwnApi } from '../../src/server/own-api/document.js'
import { LabHome } from '../support/lab-home.js'
import { findMismatch, type Schema } from '../support/json-schema.js'

/**
 * Every Understudy-specific endpoint, compared with its description, on a server and on the lab daemon of a running
 * lab.
 */

interface Operation {
  readonly tags: readonly string[]
  readonly requestBody?: { readonly content: { readonly 'application/json': { schema: Schema; example: unknown } } }
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, { schema: Schema }>> }>>
}

interface Answer {
  readonly status: number
  readonly type: string
  readonly text: string
}

const document = describeOwnApi('0') as unknown as { paths: Record<string, Record<string, Operation>> }
const OPERATIONS = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
)
const of = (tag: string) => OPERATIONS.filter(({ operation }) => operation.tags.includes(tag))

const ask = (target: http.RequestOptions, method: string, path: string, body?: unknown): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const request = http.request({ ...target, method, path, agent: false }, (response) => {
      let text = ''
      const type = String(response.headers['content-type'])
      const done = () => resolve({ status: response.statusCode ?? 0, type, text })
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part
        // An event stream has no end.
        if (type !== 'text/event-stream') return
        done()
        response.destroy()
      })
      response.on('end', done)
    })
    request.on('error', reject)
    request.end(body === undefined ? undefined : JSON.stringify(body))
  })

/** Returns what differs between a response and its description. */
const judge = ({ operation }: { operation: Operation }, { status, type, text }: Answer): string | undefined => {
  const described = operation.responses[String(status)]
  if (!described) return `${status} is not described: ${text}`
  const [[media, content] = []] = Object.entries(described.content ?? {})
  if (!media || !content) return text === '' ? undefined : `there is a body: ${text}`
  if (!type.startsWith(media)) return `it is ${type}`
  return media === 'application/json' ? findMismatch(content.schema, JSON.parse(text)) : undefined
}

let home: LabHome
let server: http.RequestOptions
let daemon: http.RequestOptions

beforeAll(async () => {
  home = new LabHome()
  const up = await home.run('up', 'dr', '--ports', 'random')
  expect(up.status, up.stderr).toBe(0)
  const lab = home.record('default')
  const { hostname, port } = new URL(lab.clusters[0]?.apiAddress ?? '')
  server = { host: hostname, port }
  daemon = { socketPath: lab.keeper.socket }
})
afterAll(async () => {
  await home.run('down')
  await home[Symbol.asyncDispose]()
})

describe('the examples of the document', () => {
  it('the examples of the OpenAPI document match their schemas', () => {
    const wrong = OPERATIONS.flatMap(({ method, path, operation }) => {
      const contents = [operation.requestBody, ...Object.values(operation.responses)].flatMap((one) => {
        const content = one?.content?.['application/json']
        return content && 'example' in content ? [content as { schema: Schema; example: unknown }] : []
      })
      return contents
        .flatMap(({ schema, example }) => findMismatch(schema, example) ?? [])
        .map((text) => [method, path, text])
    })
    expect(wrong).toEqual([])
  })

  it('the schema check reports an example that does not match its schema', () => {
    const [schema] = of('server').flatMap(
      ({ operation }) => operation.requestBody?.content['application/json'].schema ?? [],
    )
    if (!schema) throw new Error('no schema')
    for (const wrong of [{}, { state: 5 }, { state: 'none' }, { state: 'merkle-sync', more: 1 }, []])
      expect(findMismatch(schema, wrong), JSON.stringify(wrong)).toBeDefined()
  })
})

describe('a server', () => {
  it('a server serves its description, and lists its endpoints', async () => {
    const served = await ask(server, 'GET', '/_understudy/v1/openapi.json')
    expect(served).toMatchObject({ status: 200, type: 'application/json' })
    expect((JSON.parse(served.text) as typeof document).paths).toEqual(document.paths)
    for (const root of ['/_understudy/v1/', '/_understudy/v1']) {
      const { status, text } = await ask(server, 'GET', root)
      expect(status).toBe(200)
      const list = JSON.parse(text) as { description: string; endpoints: { method: string; path: string }[] }
      expect(list.description).toBe('/_understudy/v1/openapi.json')
      expect(list.endpoints.map(({ method, path }) => `${method} ${path}`)).toEqual(
        of('server').map(({ method, path }) => `${method} ${path}`),
      )
    }
  })

  it('the endpoints of a server accept and return what their description states', async () => {
    // An unused activation token, for the endpoint that revokes it.
    const { rootToken, dataDir } = home.record('default').clusters[0] ?? { rootToken: '', dataDir: '' }
    const headers = { 'X-Vault-Token': rootToken }
    await ask({ ...server, headers }, 'POST', '/v1/sys/replication/dr/primary/secondary-token', { id: 'b' })
    const wrong: unknown[] = []
    for (const one of of('server')) {
      // The previously taken image is the one to load.
      if (one.path.endsWith('image/load')) {
        expect(await ask(server, one.method, one.path)).toMatchObject({ status: 400 })
        renameSync(path.join(dataDir, 'lab-image.out'), path.join(dataDir, 'lab-image.in'))
      }
      const example = one.operation.requestBody?.content['application/json'].example
      const problem = judge(one, await ask({ ...server, headers }, one.method, one.path, example))
      if (problem) wrong.push([one.method, one.path, problem])
    }
    expect(wrong).toEqual([])
  })

  it('audit lines are readable with permission on audit devices only', async () => {
    const { rootToken } = home.record('default').clusters[0] ?? { rootToken: '' }
    const as = (token: string, more = {}) => ({ ...server, headers: { 'X-Vault-Token': token, ...more } })
    const audit = '/_understudy/v1/audit'
    await ask(as(rootToken), 'POST', '/v1/sys/audit/out', { type: 'file', options: { file_path: 'stdout' } })
    await ask(as(rootToken), 'POST', '/v1/sys/policies/acl/plain', {
      policy: 'path "sys/audit" { capabilities = ["read"] }',
    })
    const made = await ask(as(rootToken), 'POST', '/v1/auth/token/create', { policies: ['plain'] })
    const { client_token: plain } = (JSON.parse(made.text) as { auth: { client_token: string } }).auth
    for (const one of [server, as(''), as('hvs.wrong'), as(plain), as(rootToken, { 'X-Vault-Namespace': 'none' })]) {
      const { status, text } = await ask(one, 'GET', audit)
      expect([403, 404]).toContain(status)
      expect(text).not.toContain('lines')
    }
    const { kept, lines } = JSON.parse((await ask(as(rootToken), 'GET', audit)).text) as {
      kept: string[]
      lines: { device: string; text: string }[]
    }
    expect(kept).toEqual(['out/'])
    const requests = lines.map(({ text }) => (JSON.parse(text) as { request: { path: string } }).request.path)
    expect(requests).toContain('auth/token/create')
    expect(requests.at(-1), 'the look itself is written down').toBe('sys/audit')
    expect(JSON.stringify(lines)).not.toContain(plain)
    expect(JSON.stringify(lines)).not.toContain(rootToken)
    await ask(as(rootToken), 'DELETE', '/v1/sys/audit/out')
  })

  it('a server rejects a verb or a path that is not described', async () => {
    for (const [method, path, status] of [
      ['DELETE', 'info', 405],
      ['GET', 'clock', 405],
      ['GET', 'none', 404],
    ] as const) {
      const answer = await ask(server, method, `/_understudy/v1/${path}`)
      expect([path, answer.status, JSON.parse(answer.text)]).toEqual([path, status, { errors: expect.any(Array) }])
    }
  })
})

describe('a lab daemon', () => {
  it('the lab daemon accepts and answers what its document describes', async () => {
    expect((await ask(daemon, 'GET', '/openapi.json')).status).toBe(200)
    expect(await listed(daemon)).toEqual(
      of('lab-daemon')
        .filter((one) => !isOfHost(one))
        .map(nameOf),
    )
    const wrong: unknown[] = []
    // First heals each fault individually, then all faults.
    const [hosted, here] = [isOfHost, (one: Named) => !isOfHost(one)].map((isOne) => of('lab-daemon').filter(isOne))
    for (const one of [...(here ?? [])].sort((a, b) => order(a.method, a.path) - order(b.method, b.path))) {
      const example = one.operation.requestBody?.content['application/json'].example
      const path = one.path.replace('{id}', '1')
      const problem = judge(one, await ask(daemon, one.method, path, example))
      if (problem) wrong.push([one.method, one.path, problem])
    }
    expect(wrong).toEqual([])
    expect(hosted).not.toEqual([])
    for (const { method, path } of hosted ?? [])
      expect(await ask(daemon, method, path.replace('{cluster}', 'A'), { verb: 'stop' })).toMatchObject({ status: 404 })
  })

  it('the lab daemon of a lab in one process controls its servers as its document describes', async () => {
    const up = await home.run('up', 'single', '--in-process', '--name', 'hosted', '--ports', 'random')
    expect(up.status, up.stderr).toBe(0)
    const target = { socketPath: home.record('hosted').keeper.socket }
    expect(await listed(target)).toEqual(of('lab-daemon').map(nameOf))
    for (const one of of('lab-daemon').filter(isOfHost)) {
      const at = one.path.replace('{cluster}', 'A')
      const example = one.operation.requestBody?.content['application/json'].example
      for (const body of [example, { verb: 'start' }, { verb: 'crash' }, { verb: 'start' }])
        expect(judge(one, await ask(target, one.method, at, body))).toBeUndefined()
      expect(await ask(target, one.method, at, { verb: 'pause' })).toMatchObject({ status: 400 })
      expect(await ask(target, one.method, one.path.replace('{cluster}', 'Q'), example)).toMatchObject({
        status: 400,
        text: expect.stringContaining('this process has no server Q; its servers are A'),
      })
    }
    expect((await home.run('down', 'hosted')).status).toBe(0)
  })
})

/** Returns the endpoints that a lab daemon reports. */
const listed = async (target: http.RequestOptions): Promise<string[]> => {
  const { text } = await ask(target, 'GET', '/')
  const { endpoints } = JSON.parse(text) as { endpoints: { method: string; path: string }[] }
  return endpoints.map(nameOf)
}

const nameOf = ({ method, path }: { readonly method: string; readonly path: string }): string => `${method} ${path}`

interface Named {
  readonly path: string
}

/** Only a lab daemon that shares its process with the servers has these endpoints. */
const isOfHost = ({ path }: Named): boolean => path.startsWith('/servers/')

const order = (method: string, path: string): number =>
  method === 'POST' ? 0 : method === 'GET' ? 1 : path.includes('{') ? 2 : 3
