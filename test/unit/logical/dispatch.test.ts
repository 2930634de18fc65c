import { describe, expect, it } from 'vitest'
import { type Backend, type Call, definePath, type PathSpec } from '../../../src/logical/backend.js'
import { decideWriteOperation, dispatch, findPath } from '../../../src/logical/dispatch.js'
import { commaList, int, string } from '../../../src/logical/fields.js'
import type { JsonObject } from '../../../src/logical/json.js'
import type { Operation, Response } from '../../../src/logical/request.js'
import { makeRequest } from '../../support/backend-harness.js'

const request = (operation: Operation, data: JsonObject = {}) => makeRequest(operation, '', data)

const show = (call: Call): Response => ({ data: { path: call.path, values: call.values } })
const row = (
  pattern: string,
  operations: PathSpec['operations'],
  { fields, ...more }: Partial<PathSpec> = {},
): PathSpec => {
  const names = [...pattern.matchAll(/[:*](\w+)/g)].map(([, name = '']) => [name, string('')] as const)
  return definePath(pattern, fields ?? Object.fromEntries(names), 'does it', { ...operations, ...more })
}
const backendOf = (...paths: PathSpec[]): Backend => ({ type: 'test', paths })

const sample = backendOf(
  row('role/?', { list: show }),
  row(
    'role/:name',
    { read: show, update: show, delete: () => undefined },
    {
      fields: { name: string(''), ttl: int(''), tags: commaList('') },
      exists: ({ values }) => values.name === 'here',
    },
  ),
  row('role/:name/secret-id', { update: show, list: show }),
  row('mounts', { read: show }, { mirror: true }),
  row('mounts/*path/tune', { read: show }),
  row('mounts/*path', { read: show }),
  row('data/*path', { read: show }),
  row('metadata/*path', { list: show }),
  row('any/*path', { update: show, read: show }, { takesAnyField: true }),
)

const values = async (operation: Operation, path: string, data?: JsonObject) =>
  (await dispatch(sample, request(operation, data), path))?.data as { path: string; values: Record<string, unknown> }

describe('finding a path', () => {
  it.each<[string, string | undefined, Record<string, string>]>([
    ['role', 'role/?', {}],
    ['role/', 'role/?', {}],
    ['role/web', 'role/:name', { name: 'web' }],
    ['role/web.v2 x', 'role/:name', { name: 'web.v2 x' }],
    ['role/web/', undefined, {}],
    ['role/web/secret-id', 'role/:name/secret-id', { name: 'web' }],
    ['role/web/nothing', undefined, {}],
    ['Role/web', undefined, {}],
    ['mounts', 'mounts', {}],
    ['mounts/', undefined, {}],
    ['mounts/a/b', 'mounts/*path', { path: 'a/b' }],
    ['mounts/a/b/tune', 'mounts/*path/tune', { path: 'a/b' }],
    ['data', undefined, {}],
    ['data/', 'data/*path', { path: '' }],
    ['data/a/b/', 'data/*path', { path: 'a/b/' }],
    ['constructor', undefined, {}],
    ['', undefined, {}],
  ])('%j is found at %j', (path, pattern, captured) => {
    const found = findPath(sample, path)
    expect(found?.spec.pattern).toBe(pattern)
    if (found) expect(found.captured).toEqual(captured)
  })

  it('path rows are tried in table order, including those that begin with a capture', () => {
    const backend = backendOf(row(':any/x', { read: show }), row('a/x', { read: show }))
    expect(findPath(backend, 'a/x')?.spec.pattern).toBe(':any/x')
    expect(findPath(backendOf(row('*rest', { read: show })), '')?.captured).toEqual({ rest: '' })
  })
})

describe('dispatch', () => {
  it('dispatch returns 404 for an unknown path and 405 for a wrong verb, as a list of errors', async () => {
    await expect(dispatch(sample, request('read'), 'nowhere')).rejects.toMatchObject({
      code: 'unsupported-path',
      message: 'unsupported path',
      wrapped: true,
    })
    await expect(dispatch(sample, request('delete'), 'mounts')).rejects.toMatchObject({
      code: 'unsupported-operation',
      wrapped: true,
    })
  })

  it('dispatch finds no path for a list of an unlistable path', async () => {
    await expect(dispatch(sample, request('list'), 'mounts/')).rejects.toMatchObject({ code: 'unsupported-path' })
    await expect(dispatch(sample, request('list'), 'role/web/')).rejects.toMatchObject({ code: 'unsupported-path' })
    await expect(dispatch(sample, request('list'), 'data/')).rejects.toMatchObject({ code: 'unsupported-operation' })
  })

  it('dispatch passes list paths without the trailing slash', async () => {
    expect(await values('list', 'metadata/a/b/')).toEqual({ path: 'metadata/a/b', values: { path: 'a/b' } })
    expect(await values('list', 'metadata/')).toEqual({ path: 'metadata', values: { path: '' } })
    expect(await values('list', 'role/web/secret-id/')).toMatchObject({ values: { name: 'web' } })
  })

  it('dispatch keeps the trailing slash of other operations', async () => {
    expect((await values('read', 'data/a/')).values).toEqual({ path: 'a/' })
  })

  it('dispatch calls the fallback if no path matches', async () => {
    const backend: Backend = { ...sample, fallback: (_, path) => ({ data: { path }, status: 404 }) }
    expect(await dispatch(backend, request('read'), 'nowhere/x')).toEqual({ data: { path: 'nowhere/x' }, status: 404 })
  })

  it('dispatch distinguishes create from update by the existence check, and uses update without one', () => {
    expect(decideWriteOperation(sample, request('update'), 'role/here')).toBe('update')
    expect(decideWriteOperation(sample, request('update'), 'role/new')).toBe('create')
    expect(decideWriteOperation(sample, request('update'), 'any/x')).toBe('update')
    expect(decideWriteOperation(sample, request('update'), 'nowhere')).toBe('update')
  })

  it('dispatch uses the update handler for a create without a handler', async () => {
    expect((await values('create', 'role/new', { ttl: '5' })).values).toEqual({ name: 'new', ttl: 5, tags: [] })
  })

  it('dispatch omits the prefix of field errors if existence is checked first', async () => {
    const bad = { ttl: 'soon' }
    const bare = /^error converting input for field "ttl"/
    expect(() => decideWriteOperation(sample, request('update', bad), 'role/x')).toThrow(bare)
    await expect(dispatch(sample, request('update', bad), 'role/x')).rejects.toThrow(bare)
    await expect(dispatch(sample, request('read', bad), 'role/x')).rejects.toThrow(
      /^Field validation failed: error conv/,
    )
  })

  it('dispatch treats a list without keys as empty', async () => {
    const listing = (data: Record<string, unknown>, warnings: string[] = []) =>
      dispatch(backendOf(row('x', { list: () => ({ data, warnings }) })), request('list'), 'x/')
    expect(await listing({ keys: [] })).toBeUndefined()
    expect(await listing({ keys: [], key_info: {} })).toBeUndefined()
    expect(await listing({})).toBeUndefined()
    expect(await listing({ keys: ['a'] })).toBeDefined()
    expect(await listing({}, ['careful'])).toBeDefined()
  })

  it('dispatch marks mirrored responses', async () => {
    expect((await dispatch(sample, request('read'), 'mounts'))?.mirror).toBe(true)
    expect((await dispatch(sample, request('read'), 'data/x'))?.mirror).toBeUndefined()
  })

  it('dispatch returns the help of a path', async () => {
    const help = await dispatch(sample, request('help'), 'role/web')
    expect(help).toMatchObject({ bare: true, data: { help: expect.stringContaining('ttl (int)'), see_also: null } })
    const root = await dispatch(sample, request('help'), '')
    expect(root).toMatchObject({ bare: true, data: { help: expect.stringContaining('role/') } })
  })
})

describe('warnings about parameters', () => {
  const warned = async (response: Response | undefined, data: JsonObject, operation: Operation = 'update') =>
    (await dispatch(backendOf(row('x/:name', { [operation]: () => response })), request(operation, data), 'x/web'))
      ?.warnings

  it('parameter warnings name unknown and overridden parameters in order, after the warnings of the handler', async () => {
    expect(await warned({ data: {}, warnings: ['mine'] }, { zeta: 1, alpha: 2, name: 'other' })).toEqual([
      'mine',
      'Endpoint ignored these unrecognized parameters: [alpha zeta]',
      "Endpoint replaced the value of these parameters with the values captured from the endpoint's path: [name]",
    ])
  })

  it('a response without a body has no parameter warnings', async () => {
    expect(await warned({}, { zeta: 1 })).toBeUndefined()
    expect(await warned({ data: { a: 1 }, bare: true }, { zeta: 1 })).toBeUndefined()
    expect(await warned({ raw: { contentType: 'text/plain', body: '' } }, { zeta: 1 })).toBeUndefined()
  })

  it('parameter warnings apply to a read, too', async () => {
    expect(await warned({ data: {} }, { list: 'false' }, 'read')).toEqual([
      'Endpoint ignored these unrecognized parameters: [list]',
    ])
  })

  it('a path that accepts any field warns of its query, and not of its body', async () => {
    const write = await dispatch(sample, request('update', { zeta: 1 }), 'any/x')
    const read = await dispatch(sample, request('read', { zeta: 1 }), 'any/x')
    expect(write?.warnings).toBeUndefined()
    expect(read?.warnings).toHaveLength(1)
  })
})
