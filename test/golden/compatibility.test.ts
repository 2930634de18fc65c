import { readFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type OpenServerProcess, startOpenServerProcess } from '../support/server-process.js'

/** The tables of docs/reference/compatibility.md, held against what a running server says and does. */

const page = readFileSync(path.join(import.meta.dirname, '..', '..', 'docs', 'reference', 'compatibility.md'), 'utf8')

const PROPERTIES = 'auth/approle/role/{role_name}/{property}'

/** The paths in one of the tables. A row's name may stand in code marks too, so only what has a slash and no gap counts. */
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

describe('the compatibility tables', () => {
  let server: OpenServerProcess

  beforeAll(async () => {
    server = await startOpenServerProcess()
    for (const type of ['approle', 'cert', 'jwt', 'userpass']) await server.client.write(`sys/auth/${type}`, { type })
    await server.client.write('sys/mounts/kv', { type: 'kv', options: { version: '1' } })
    await server.client.write('sys/mounts/transit', { type: 'transit' })
    await server.client.write('sys/mounts/database', { type: 'database' })
    await server.client.write('sys/mounts/pki', { type: 'pki' })
    await server.client.write('sys/mounts/secret', { type: 'kv', options: { version: '2' } })
  })

  afterAll(() => server?.[Symbol.asyncDispose]())

  it('name every path that is served, and none that is not', async () => {
    const { paths } = await server.client.read('sys/internal/specs/openapi')
    const served = Object.keys(paths as object).map((name) => name.slice(1))
    expect(pathsIn('served').flatMap(expand).toSorted()).toEqual(served.toSorted())
  })

  it('name as absent only what answers as an unknown path', async () => {
    const absent = pathsIn('absent')
    expect(absent.length).toBeGreaterThan(10)
    for (const name of absent) {
      const { status, json } = await server.client.send('GET', name)
      expect({ name, status, errors: String(json?.errors) }).toMatchObject({
        status: 404,
        errors: expect.stringContaining('unsupported path'),
      })
    }
  })
})
