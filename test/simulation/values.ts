import type { Answer, Call } from '../../src/server/simulated/calls.js'
import { CollidingNames } from './colliding.js'

/** How a value is written and read at one kind of path. The name is the rest of its path. */
interface PathKind {
  readonly put: (name: string, value: string) => Call
  readonly delete: (name: string) => Call
  readonly get: (name: string) => Call
  /** Returns the storage paths, or their prefixes, under which a list of losses names the value. */
  readonly stored: (name: string) => readonly string[]
  /** Returns the value in a response with status 200. */
  readonly found: (data: Readonly<Record<string, unknown>>) => unknown
}

const kv1 = (mount: string): PathKind => ({
  put: (name, value) => ({ method: 'PUT', path: `${mount}/${name}`, body: { value } }),
  delete: (name) => ({ method: 'DELETE', path: `${mount}/${name}` }),
  get: (name) => ({ method: 'GET', path: `${mount}/${name}` }),
  stored: (name) => [`${mount}/data/${name}`],
  found: ({ value }) => value,
})

const kv2 = (mount: string): PathKind => ({
  put: (name, value) => ({ method: 'PUT', path: `${mount}/data/${name}`, body: { data: { value } } }),
  delete: (name) => ({ method: 'DELETE', path: `${mount}/metadata/${name}` }),
  get: (name) => ({ method: 'GET', path: `${mount}/data/${name}` }),
  stored: (name) => [`${mount}/metadata/${name}`, `${mount}/versions/${name}`],
  found: ({ data }) => (data as { readonly value?: unknown }).value,
})

const names = new CollidingNames()
const policyPath = (name: string) => `sys/policies/acl/${names.of(name)}`

const granting = (value: string) => `path "${value}" { capabilities = ["read"] }`

/** Returns the path on which a policy of a client grants a capability; empty for any other policy. */
export const grantedBy = (policy: string): string =>
  /^path "(.*)" { capabilities = \["read"\] }$/.exec(policy)?.[1] ?? ''

/** Policies are cached on every cluster that has read them. Pairs of them share a sub-page of the tree. */
const policies: PathKind = {
  put: (name, value) => ({ method: 'PUT', path: policyPath(name), body: { policy: granting(value) } }),
  delete: (name) => ({ method: 'DELETE', path: policyPath(name) }),
  get: (name) => ({ method: 'GET', path: policyPath(name) }),
  stored: (name) => [`sys/policy/root/${names.of(name)}`],
  found: ({ policy }) => grantedBy(String(policy)),
}

const PATHS_BY_KIND: Readonly<Record<string, PathKind>> = {
  one: kv1('one'),
  two: kv2('two'),
  hidden: kv1('hidden'),
  team: kv1('team/kv'),
  policy: policies,
}

export const PATH_KINDS: readonly string[] = Object.keys(PATHS_BY_KIND)

const kindOf = (path: string): readonly [PathKind, string] => {
  const [first = '', name = ''] = path.split('/')
  const kind = PATHS_BY_KIND[first]
  if (!kind) throw new Error(`unknown kind of path: ${first}`)
  return [kind, name]
}

/** Returns the call that writes a value at a path such as `one/a`; undefined deletes it. */
export const writeOf = (path: string, value: string | undefined): Call => {
  const [kind, name] = kindOf(path)
  return value === undefined ? kind.delete(name) : kind.put(name, value)
}

export const readOf = (path: string): Call => {
  const [kind, name] = kindOf(path)
  return kind.get(name)
}

/** Returns true if an entry of a list of losses names the value at a path such as `one/a`. */
export const isStoredAt = (path: string, entry: string): boolean => {
  const [kind, name] = kindOf(path)
  return kind.stored(name).some((at) => entry === at || entry.startsWith(`${at}/`))
}

/** Returns the value in a response; undefined if there is none. */
export const valueIn = (path: string, { json, status }: Answer): string | undefined => {
  const [kind] = kindOf(path)
  return status === 200 ? String(kind.found(json.data as Readonly<Record<string, unknown>>)) : undefined
}
