import { beforeEach, describe, expect, test } from 'vitest'
import { PolicyStore } from '../../../src/core/policies.js'
import { capabilityPaths } from '../../../src/core/system/capability-paths.js'
import { policyPaths } from '../../../src/core/system/policy-paths.js'
import type { PathSpec } from '../../../src/logical/backend.js'
import { LogicalError } from '../../../src/logical/errors.js'
import { type Operation, type Request, ROOT_NAMESPACE, type Response } from '../../../src/logical/request.js'
import { MemoryStorage } from '../../support/memory-storage.js'

const READ_X = 'path "x" { capabilities = ["read"] }'

let policies: PolicyStore
beforeEach(async () => {
  policies = new PolicyStore({ storage: new MemoryStorage() })
  await policies.ensureDefaults('root')
})

const requestOf = (operation: Operation, clientToken?: string, namespace = ROOT_NAMESPACE): Request => ({
  id: '1',
  operation,
  path: '',
  namespace,
  data: {},
  headers: {},
  remoteAddress: '127.0.0.1',
  remotePort: 1,
  clientToken,
  wrap: undefined,
})

/** Calls one row of a path table with coerced values, defaults filled in. */
const call = async (
  specs: PathSpec[],
  pattern: string,
  request: Request,
  sent: Record<string, unknown> = {},
): Promise<Response | undefined> => {
  const spec = specs.find((one) => one.pattern === pattern)
  const handler = spec?.operations[request.operation]
  if (!spec || !handler) throw new Error(`no ${request.operation} of ${pattern}`)
  const defaults = Object.fromEntries(Object.entries(spec.fields).map(([name, field]) => [name, field.defaultValue]))
  return handler({ request, values: { ...defaults, ...sent }, supplied: (name) => Object.hasOwn(sent, name), path: '' })
}

describe('policies', () => {
  const at = (pattern: string, operation: Operation, sent?: Record<string, unknown>) =>
    call(policyPaths({ policies }), pattern, requestOf(operation), sent)
  const NEW = 'policies/acl/*name'
  const OLD = 'policy/*name'

  test('one store behind two families', async () => {
    expect(await at(NEW, 'update', { name: 'a', policy: READ_X })).toBeUndefined()
    expect(await at(OLD, 'update', { name: 'b', policy: READ_X })).toBeUndefined()
    expect(await at(NEW, 'read', { name: 'b' })).toEqual({ data: { name: 'b', policy: READ_X } })
    expect(await at(OLD, 'read', { name: 'a' })).toEqual({ data: { name: 'a', rules: READ_X } })
    const keys = ['a', 'b', 'default', 'root']
    expect(await at('policies/acl/?', 'list')).toEqual({ data: { keys } })
    expect(await at('policy/?', 'list')).toEqual({ data: { keys, policies: keys } })
    expect(await at('policy/?', 'read')).toEqual({ data: { keys, policies: keys } })
    expect(await at(NEW, 'delete', { name: 'a' })).toBeUndefined()
    expect(await at(OLD, 'delete', { name: 'a' })).toBeUndefined()
    expect(await at(OLD, 'read', { name: 'a' })).toBeUndefined()
  })

  test('the older family repeats its data at the top', () => {
    const mirrored = policyPaths({ policies }).filter((spec) => spec.mirror)
    expect(mirrored.map((spec) => spec.pattern)).toEqual(['policy/?', OLD])
  })

  test('an upper-case name is lowered and said', async () => {
    expect(await at(NEW, 'update', { name: 'UP', policy: READ_X })).toEqual({
      warnings: ['policy name was converted to up'],
    })
    expect(await at(OLD, 'read', { name: 'Up' })).toEqual({ data: { name: 'up', rules: READ_X } })
  })

  test('rules is an old name in the old family only', async () => {
    const warnings = ["'rules' is deprecated, please use 'policy' instead"]
    expect(await at(OLD, 'update', { name: 'c', rules: READ_X })).toEqual({ warnings })
    expect(await at(OLD, 'update', { name: 'c', rules: 'x', policy: READ_X })).toBeUndefined()
    expect(Object.keys(policyPaths({ policies }).find((spec) => spec.pattern === NEW)?.fields ?? {})).toEqual([
      'name',
      'policy',
    ])
  })

  test('a text in base64 is stored decoded', async () => {
    const packed = Buffer.from(READ_X).toString('base64')
    await at(NEW, 'update', { name: 'd', policy: packed })
    await at(NEW, 'update', { name: 'e', policy: packed.replace(/(.{10})/g, '$1\n') })
    expect(policies.find('root', 'd')?.text).toBe(READ_X)
    expect(policies.find('root', 'e')?.text).toBe(READ_X)
  })

  test.each([
    [NEW, { name: 'x' }, "'policy' parameter not supplied or empty"],
    [OLD, { name: 'x', policy: '' }, "'policy' parameter not supplied or empty"],
    [NEW, { name: 'x', policy: 'path "x" {' }, 'failed to parse policy'],
    [NEW, { name: 'ROOT', policy: READ_X }, 'cannot update "root" policy'],
    [OLD, { name: 'response-wrapping', policy: READ_X }, 'cannot update "response-wrapping" policy'],
  ])('%s refuses %j', async (pattern, sent, expected) => {
    await expect(at(pattern, 'update', sent)).rejects.toThrow(expected)
  })

  test('root can be read and has no text', async () => {
    expect(await at(NEW, 'read', { name: 'root' })).toEqual({ data: { name: 'root', policy: '' } })
    expect(await at(OLD, 'read', { name: 'root' })).toEqual({ data: { name: 'root', rules: '' } })
  })
})

describe('capabilities', () => {
  beforeEach(async () => {
    const text = `path "c/a" { capabilities = ["update", "read", "create"] } path "c/b" { capabilities = ["deny"] }
      path "team/c/a" { capabilities = ["list"] }`
    await policies.put('root', 'c', text)
  })
  const at = (pattern: string, sent: Record<string, unknown>, clientToken = 't', namespace = ROOT_NAMESPACE) => {
    const aclForToken = (token: string) =>
      token === 't' || token === 'r'
        ? { acl: policies.aclFor([token === 'r' ? 'root' : 'c'], ROOT_NAMESPACE, undefined), namespace: ROOT_NAMESPACE }
        : undefined
    const specs = capabilityPaths({
      aclForToken,
      aclForAccessor: (accessor) => aclForToken(accessor.replace('acc-', '')),
    })
    return call(specs, pattern, requestOf('update', clientToken, namespace), sent)
  }
  const A = ['create', 'read', 'update']

  test('one path is repeated as capabilities, by any name and by any way to a token', async () => {
    const expected = { data: { 'c/a': A, capabilities: A } }
    expect(await at('capabilities-self', { path: ['c/a'] })).toEqual(expected)
    expect(await at('capabilities-self', { paths: ['c/a'] })).toEqual(expected)
    expect(await at('capabilities', { token: 't', path: ['c/a'] })).toEqual(expected)
    expect(await at('capabilities-accessor', { accessor: 'acc-t', path: ['c/a'] })).toEqual(expected)
  })

  test('several paths, the same twice, and none', async () => {
    expect(await at('capabilities-self', { paths: ['c/a', 'c/b', '/c/none'] })).toEqual({
      data: { 'c/a': A, 'c/b': ['deny'], '/c/none': ['deny'] },
    })
    expect(await at('capabilities-self', { paths: ['c/a', 'c/a'] })).toEqual({ data: { 'c/a': A } })
    await expect(at('capabilities-self', {})).rejects.toThrow('paths must be supplied')
    await expect(at('capabilities-self', { paths: [], path: ['x'] })).rejects.toThrow('paths must be supplied')
  })

  test('root, and a path of another namespace', async () => {
    expect(await at('capabilities-self', { paths: ['x', 'sys/seal'] }, 'r')).toEqual({
      data: { x: ['root'], 'sys/seal': ['root'] },
    })
    const team = { id: 'n1', path: 'team/' }
    expect(await at('capabilities-self', { path: ['c/a'] }, 't', team)).toEqual({
      data: { 'c/a': ['list'], capabilities: ['list'] },
    })
  })

  test.each([
    ['capabilities', { path: ['x'] }, 'no token found', true],
    ['capabilities', { token: 'nonsense', path: ['x'] }, 'invalid token', true],
    ['capabilities', { token: 't' }, 'paths must be supplied', false],
    ['capabilities-accessor', { path: ['x'] }, 'missing accessor', false],
    ['capabilities-accessor', { accessor: 'nonsense', path: ['x'] }, 'invalid accessor', true],
  ])('%s refuses %j', async (pattern, sent, message, wrapped) => {
    const refusal = await at(pattern, sent).catch((error: unknown) => error)
    expect(refusal).toBeInstanceOf(LogicalError)
    expect(refusal).toMatchObject({ code: 'invalid-request', message, wrapped })
  })
})
