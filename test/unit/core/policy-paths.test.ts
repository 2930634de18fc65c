import { beforeEach, describe, expect, test } from 'vitest'
import { PolicyStore } from '../../../src/core/acl/policies.js'
import { capabilityPaths } from '../../../src/core/system/capability-paths.js'
import { policyPaths } from '../../../src/core/system/policy-paths.js'
import type { PathSpec } from '../../../src/logical/backend.js'
import { dispatch } from '../../../src/logical/dispatch.js'
import { LogicalError } from '../../../src/logical/errors.js'
import type { JsonObject } from '../../../src/logical/json.js'
import {
  type NamespaceRef,
  type Operation,
  type Request,
  ROOT_NAMESPACE,
  type Response,
} from '../../../src/logical/request.js'
import { makeRequest } from '../../support/backend-harness.js'
import { MemoryStorage } from '../../support/memory-storage.js'

const NO_TEXT = "'policy' parameter not supplied or empty"
const READ_X = 'path "x" { capabilities = ["read"] }'

let policies: PolicyStore
beforeEach(async () => {
  const storage = new MemoryStorage()
  policies = new PolicyStore({ storage })
  storage.onChange((key) => policies.invalidate(key))
  await policies.ensureDefaults('root')
})

/** Returns the response of a system backend that has only these rows. */
const ask = (
  paths: PathSpec[],
  path: string,
  operation: Operation,
  data: JsonObject = {},
  more: Partial<Request> = {},
): Promise<Response | undefined> =>
  dispatch({ type: 'system', paths }, makeRequest(operation, `sys/${path}`, data, { clientToken: 't', ...more }), path)

describe('policies', () => {
  const at = (path: string, operation: Operation, data?: JsonObject) =>
    ask(policyPaths({ policies }), path, operation, data)

  test('two path families share one store, and the older one repeats its data at the top level', async () => {
    expect(await at('policies/acl/a', 'update', { policy: READ_X })).toBeUndefined()
    expect(await at('policy/team/b c', 'update', { policy: READ_X })).toBeUndefined()
    expect(await at('policies/acl/team/b c', 'read')).toEqual({ data: { name: 'team/b c', policy: READ_X } })
    expect(await at('policy/a', 'read')).toEqual({ data: { name: 'a', rules: READ_X }, mirror: true })
    const keys = ['a', 'default', 'root', 'team/b c']
    expect(await at('policies/acl/', 'list')).toEqual({ data: { keys } })
    expect(await at('policy/', 'list')).toEqual({ data: { keys, policies: keys }, mirror: true })
    expect(await at('policy', 'read')).toEqual({ data: { keys, policies: keys }, mirror: true })
    expect(await at('policies/acl/a', 'delete')).toBeUndefined()
    expect(await at('policy/a', 'delete')).toBeUndefined()
    expect(await at('policy/a', 'read')).toBeUndefined()
  })

  test('an upper-case policy name is converted with a warning', async () => {
    const warnings = ['policy name was converted to up']
    expect(await at('policies/acl/UP', 'update', { policy: READ_X })).toMatchObject({ warnings })
    expect(await at('policy/Up', 'read')).toMatchObject({ data: { name: 'up', rules: READ_X } })
  })

  test('rules is a deprecated field of the older family only', async () => {
    const warnings = ["'rules' is deprecated, please use 'policy' instead"]
    expect(await at('policy/c', 'update', { rules: READ_X })).toMatchObject({ warnings })
    expect(await at('policy/c', 'update', { rules: 'x', policy: READ_X })).toBeUndefined()
    await expect(at('policies/acl/c', 'update', { rules: READ_X })).rejects.toThrow(NO_TEXT)
  })

  test('a policy text in base64 is stored decoded', async () => {
    const packed = Buffer.from(READ_X).toString('base64')
    await at('policies/acl/d', 'update', { policy: packed })
    await at('policies/acl/e', 'update', { policy: packed.replace(/(.{10})/g, '$1\n') })
    expect(policies.find('root', 'd')?.text).toBe(READ_X)
    expect(policies.find('root', 'e')?.text).toBe(READ_X)
  })

  test.each([
    ['policies/acl/x', {}, NO_TEXT],
    ['policy/x', { policy: '' }, NO_TEXT],
    ['policies/acl/x', { policy: 'path "x" {' }, 'failed to parse policy'],
    ['policies/acl/ROOT', { policy: READ_X }, 'cannot update "root" policy'],
    ['policy/response-wrapping', { policy: READ_X }, 'cannot update "response-wrapping" policy'],
  ])('%s rejects %j', async (path, data, expected) => {
    await expect(at(path, 'update', data)).rejects.toThrow(expected)
  })

  test('the root policy can be read and has no text', async () => {
    expect(await at('policies/acl/root', 'read')).toEqual({ data: { name: 'root', policy: '' } })
    expect(await at('policy/root', 'read')).toMatchObject({ data: { name: 'root', rules: '' } })
  })
})

describe('capabilities', () => {
  beforeEach(async () => {
    const text = `path "c/a" { capabilities = ["update", "read", "create"] } path "c/b" { capabilities = ["deny"] }
      path "team/c/a" { capabilities = ["list"] }`
    await policies.put('root', 'c', text)
  })
  const at = (path: string, data: JsonObject, more: Partial<Request> = {}) => {
    const aclForToken = (token: string) =>
      token === 't' || token === 'r'
        ? { acl: policies.aclFor([token === 'r' ? 'root' : 'c'], ROOT_NAMESPACE, undefined), namespace: ROOT_NAMESPACE }
        : undefined
    const aclForAccessor = (accessor: string) => aclForToken(accessor.replace('acc-', ''))
    return ask(capabilityPaths({ aclForToken, aclForAccessor }), path, 'update', data, more)
  }
  const A = ['create', 'read', 'update']

  test('a single path is repeated as capabilities, by every field name and endpoint', async () => {
    const expected = { data: { 'c/a': A, capabilities: A }, mirror: true }
    expect(await at('capabilities-self', { path: 'c/a' })).toEqual(expected)
    expect(await at('capabilities-self', { paths: ['c/a'] })).toEqual(expected)
    expect(await at('capabilities', { token: 't', path: 'c/a' })).toEqual(expected)
    expect(await at('capabilities-accessor', { accessor: 'acc-t', path: 'c/a' })).toEqual(expected)
  })

  test('capabilities accepts several and repeated paths, and rejects none', async () => {
    expect(await at('capabilities-self', { paths: 'c/a,c/b,/c/none' })).toMatchObject({
      data: { 'c/a': A, 'c/b': ['deny'], '/c/none': ['deny'] },
    })
    expect(await at('capabilities-self', { paths: ['c/a', 'c/a'] })).toEqual({ data: { 'c/a': A }, mirror: true })
    await expect(at('capabilities-self', {})).rejects.toThrow('paths must be supplied')
    await expect(at('capabilities-self', { paths: [], path: 'x' })).rejects.toThrow('paths must be supplied')
  })

  test('capabilities handles root, and a path of another namespace', async () => {
    expect(await at('capabilities-self', { paths: ['x', 'sys/seal'] }, { clientToken: 'r' })).toMatchObject({
      data: { x: ['root'], 'sys/seal': ['root'] },
    })
    const team = { id: 'n1', path: 'team/' }
    expect(await at('capabilities-self', { path: 'c/a' }, { namespace: team })).toMatchObject({
      data: { 'c/a': ['list'], capabilities: ['list'] },
    })
  })

  test('capabilities shows tokens of the namespace and of those below it', async () => {
    const team = { id: 'n1', path: 'team/' }
    const child = { id: 'n2', path: 'team/child/' }
    const homes: Record<string, NamespaceRef> = { root: ROOT_NAMESPACE, team, child }
    await policies.put(child.id, 'c', 'path "c/a" { capabilities = ["read"] }')
    const aclForToken = (name: string) => {
      const namespace = homes[name]
      return namespace && { acl: policies.aclFor(['c'], namespace, undefined), namespace }
    }
    const paths = capabilityPaths({ aclForToken, aclForAccessor: aclForToken })
    const asked = async (path: string, data: JsonObject, namespace: NamespaceRef, clientToken = 'x') =>
      ask(paths, path, 'update', data, { namespace, clientToken }).then(
        (answer) => (answer?.data as { capabilities?: string[] } | undefined)?.capabilities,
        (error: unknown) => (error as LogicalError).message,
      )
    const invalidOf = { capabilities: 'invalid token', 'capabilities-accessor': 'invalid accessor' } as const
    for (const path of ['capabilities', 'capabilities-accessor'] as const) {
      const of = (name: string, namespace: NamespaceRef, inside = 'c/a') =>
        asked(path, { token: name, accessor: name, path: inside }, namespace)
      expect(await of('root', team)).toBe(invalidOf[path])
      expect(await of('team', child)).toBe(invalidOf[path])
      expect(await of('child', child)).toEqual(['read'])
      expect(await of('child', team, 'child/c/a')).toEqual(['read'])
      expect(await of('child', ROOT_NAMESPACE, 'team/child/c/a')).toEqual(['read'])
      expect(await of('child', ROOT_NAMESPACE, 'c/a')).toEqual(['deny'])
    }
    expect(await asked('capabilities', { token: 'root', path: 'c/a' }, team, 'root')).toEqual(['list'])
  })

  test.each([
    ['capabilities', { path: 'x' }, 'no token found', true],
    ['capabilities', { token: 'nonsense', path: 'x' }, 'invalid token', true],
    ['capabilities', { token: 't' }, 'paths must be supplied', false],
    ['capabilities-accessor', { path: 'x' }, 'missing accessor', false],
    ['capabilities-accessor', { accessor: 'nonsense', path: 'x' }, 'invalid accessor', true],
  ])('%s rejects %j', async (path, data, message, wrapped) => {
    const refusal = await at(path, data).catch((error: unknown) => error)
    expect(refusal).toBeInstanceOf(LogicalError)
    expect(refusal).toMatchObject({ code: 'invalid-request', message, wrapped })
  })
})
