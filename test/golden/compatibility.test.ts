import { readFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest'
import { ABSENT, type AbsentFamily, DOCUMENTED_TYPES, REFUSED } from '../../scripts/support/documented-paths.js'
import { type OpenServerProcess, startOpenServerProcess } from '../support/server-process.js'

/** The tables of docs/reference/compatibility.md, held against what a running server says and does. */

const page = readFileSync(path.join(import.meta.dirname, '..', '..', 'docs', 'reference', 'compatibility.md'), 'utf8')

const PROPERTIES = 'auth/approle/role/{role_name}/{property}'

/** Returns the paths in a table. The names of rows are code too, so only code with a slash and without a gap counts. */
const pathsIn = (table: string): string[] => {
  const [, text = ''] = new RegExp(`<!-- ${table}: begin -->([^]*)<!-- ${table}: end -->`).exec(page) ?? []
  const rows = text.split('\n').map((line) => line.split('|').at(-2) ?? '')
  return rows.flatMap((row) => [...row.matchAll(/`([^`\s]+\/[^`\s]+)`/g)].map(([, found = '']) => found))
}

const properties = (): string[] => {
  const [, list = ''] = /`\{property\}` is one of ([^.]*)\./.exec(page) ?? []
  return [...list.matchAll(/`([^`]+)`/g)].map(([, found = '']) => found)
}

const expand = (given: string): string[] => {
  if (given === PROPERTIES) return properties().map((name) => given.replace('{property}', name))
  return given.includes('{kind}') ? ['dr', 'performance'].map((kind) => given.replace('{kind}', kind)) : [given]
}

/** Types of mounts that exist once in each namespace. */
const SINGLETONS: ReadonlySet<string> = new Set(['token', 'cubbyhole', 'identity'])

const pathsOf = (families: readonly AbsentFamily[]): string[] => families.flatMap(({ paths }) => paths)

describe('the compatibility tables', () => {
  let server: OpenServerProcess

  beforeAll(async () => {
    server = await startOpenServerProcess()
    for (const type of ['approle', 'cert', 'jwt', 'userpass']) await server.client.write(`sys/auth/${type}`, { type })
    await server.client.write('sys/mounts/kv', { type: 'kv', options: { version: '1' } })
    for (const type of ['transit', 'database', 'pki', 'ssh', 'totp']) {
      await server.client.write(`sys/mounts/${type}`, { type })
    }
    await server.client.write('sys/mounts/secret', { type: 'kv', options: { version: '2' } })
  })

  afterAll(() => server?.[Symbol.asyncDispose]())

  it('name every path that is served, and none that is not', async () => {
    const { paths } = await server.client.read('sys/internal/specs/openapi')
    const served = Object.keys(paths as object).map((name) => name.slice(1))
    expect(pathsIn('served').flatMap(expand).toSorted()).toEqual(served.toSorted())
  })

  it('list as absent only paths that respond as unknown paths', async () => {
    for (const name of pathsOf(ABSENT)) {
      const { status, json } = await server.client.send('GET', name)
      expect({ name, status, errors: String(json?.errors) }).toMatchObject({
        status: 404,
        errors: expect.stringContaining('unsupported path'),
      })
    }
  })

  it('list as rejected only paths whose use the server rejects', async () => {
    for (const name of pathsOf(REFUSED)) {
      expect([name, (await server.client.send('POST', name)).status]).toEqual([name, 400])
    }
  })

  it.each([
    ['auth methods', 'auth', DOCUMENTED_TYPES.auth],
    ['secrets engines', 'mounts', DOCUMENTED_TYPES.secret],
  ])('list the %s that the server cannot mount', async (kind, table, types) => {
    const row = page.split('\n').find((line) => line.startsWith(`| ${kind} |`)) ?? ''
    const absent = [...row.matchAll(/`([^`]+)`/g)].map(([, type = '']) => type)
    for (const type of types.filter((one) => !SINGLETONS.has(one))) {
      const { status } = await server.client.send('POST', `sys/${table}/tried-${type}`, { body: { type } })
      expect({ type, isAbsent: status === 400 }).toEqual({ type, isAbsent: absent.includes(type) })
    }
  })
})

test('no path is listed twice', () => {
  const all = [...pathsIn('served').flatMap(expand), ...pathsOf(ABSENT), ...pathsOf(REFUSED)]
  expect(all.filter((name, at) => all.indexOf(name) !== at)).toEqual([])
})
