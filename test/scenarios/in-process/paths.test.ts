import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ApiAnswer, errorsOf } from '../../../src/client/api-client.js'
import type { PathSpec } from '../../../src/logical/backend.js'
import { type Condition, NO_RULES, type PathRules } from '../../../src/logical/path-rules.js'
import { systemRulesOf } from '../../../src/core/system/system-rules.js'
import { type ServerInState, ServersInStates } from '../../support/server-states.js'

/**
 * Which paths a server in each of its states lets through, for whom. Every path is asked with a verb that it does not have,
 * so that nothing is done for whoever is let through.
 */

const servers = new ServersInStates()
const directory = mkdtempSync(path.join(tmpdir(), 'understudy-paths-'))
const auditFile = path.join(directory, 'audit.log')
let states: readonly ServerInState[]
let active: ServerInState
let paths: ReadonlyMap<string, Tried>

beforeAll(async () => {
  active = await servers.active()
  paths = pathsOf(active)
  states = [
    await servers.uninitialized(),
    await servers.sealed(),
    await servers.restarting(),
    await servers.bootstrapping('performance', active),
    await servers.stranded(active),
    await servers.bootstrapping('dr', active),
    await servers.secondary('dr', active),
    await servers.secondary('performance', active),
    active,
  ]
  const device = { type: 'file', local: true, options: { file_path: auditFile } }
  await active.client.call('PUT', 'sys/audit/file', { token: active.root, body: device })
})

afterAll(async () => {
  await servers.close()
  rmSync(directory, { recursive: true, force: true })
})

/** What is not served, some of which has rules all the same. */
const UNSERVED = ['sys/raw', 'sys/raw/x', 'sys/rekey/x', 'sys/storage/x', 'sys/replication/x', 'sys/x']

interface Tried {
  readonly operations: PathSpec['operations']
  readonly rules: PathRules
}

const pathsOf = ({ server }: ServerInState): Map<string, Tried> => {
  const mounts = (server.runtime?.cluster?.services.router.all() ?? []).filter(({ namespace }) => namespace.path === '')
  const served = mounts.flatMap(({ view, backend }) =>
    backend.paths.map(({ pattern, operations }) => {
      const name = exampleOf(pattern)
      return [view.path + name, { operations, rules: backend.rules?.find(name) ?? NO_RULES }] as const
    }),
  )
  const unserved = UNSERVED.map(
    (name) => [name, { operations: {}, rules: systemRulesOf(server.systemRules, name) }] as const,
  )
  return new Map([...unserved, ...served])
}

const exampleOf = (pattern: string): string => pattern.replace(/\/\?$/, '').replace(/[:*]\w+/g, 'x')

const VERBS = [
  ['PATCH', ['patch']],
  ['DELETE', ['delete']],
  ['PUT', ['update', 'create']],
  ['GET', ['read']],
  ['LIST', ['list']],
] as const

/** Of those that judge the verb before anything else, and of those that are answered by what stands in for a runtime. */
const OWN_VERBS: Readonly<Record<string, string>> = {
  'sys/health': 'GET',
  'sys/seal-status': 'GET',
  'sys/leader': 'GET',
  'sys/init': 'PUT',
  'sys/unseal': 'PUT',
  'sys/seal': 'PUT',
  'sys/step-down': 'PUT',
  'sys/replication/status': 'GET',
  'sys/replication/dr/status': 'GET',
  'sys/replication/performance/status': 'GET',
}

const verbFor = (name: string): string => {
  const operations = paths.get(name)?.operations ?? {}
  return OWN_VERBS[name] ?? VERBS.find(([, own]) => !own.some((operation) => operations[operation]))?.[0] ?? 'GET'
}

/** By status and text; `+` for what no rule of the path has refused, and `?` where there is no such path. */
const CLASSES: readonly (readonly [string, number, RegExp])[] = [
  ['s', 503, /^Vault is sealed$/],
  ['r', 503, /^(cluster is restarting|the first copy of this)/],
  ['d', 400, /^path disabled in replication DR secondary mode$/],
  ['n', 400, /^operation unavailable in namespaces$/],
  ['t', 403, /permission denied/],
  ['?', 404, /unsupported path|no handler/],
]

const classOf = (answer: ApiAnswer): string =>
  CLASSES.find(([, status, text]) => answer.status === status && text.test(errorsOf(answer)[0] ?? ''))?.[0] ?? '+'

const ask = async ({ client }: ServerInState, name: string, token?: string, namespace?: string): Promise<string> => {
  const method = verbFor(name)
  const headers = {
    ...(method === 'PATCH' && { 'Content-Type': 'application/merge-patch+json' }),
    ...(namespace !== undefined && { 'X-Vault-Namespace': namespace }),
  }
  const body = method === 'PATCH' || method === 'PUT' ? { body: {} } : {}
  return classOf(await client.send(method, name, { ...body, headers, ...(token !== undefined && { token }) }))
}

const askers = ({ ordinary, root }: ServerInState) =>
  ordinary === undefined ? [undefined, root] : [undefined, ordinary, root]

/** Root in a namespace, where some paths are for the root one alone; then in each state nobody, an ordinary token where there can be one, root. */
const rowOf = async (name: string): Promise<string> => {
  const below = (await ask(active, name, active.root, 'team')) === 'n' ? 'n' : '-'
  const cells = states.map(async (state) => {
    let cell = ''
    // One after the other: what root asks for may seal the server.
    for (const token of askers(state)) cell += await ask(state, name, token)
    return cell
  })
  return `${(await Promise.all(cells)).join(' ')} ${below}`
}

/** The conditions that the states are under, in their order; none under which everything is served. */
const CONDITIONS: readonly (Condition | undefined)[] = [
  'sealed',
  'sealed',
  'restarting',
  'bootstrapping',
  'stranded',
  'dr-bootstrapping',
  'dr',
  undefined,
  undefined,
]

const REFUSALS: Readonly<Record<string, string>> = { sealed: 'ss', dr: 'dd' }
/** Where no token is looked at. */
const WITHOUT_TOKENS: readonly (Condition | undefined)[] = ['sealed', 'restarting', 'dr-bootstrapping', 'dr']

/** What the rules of a path say of each state. */
const expectedRow = (name: string, { access, servedWhile = {}, isRootOnly }: PathRules): string => {
  const passed = UNSERVED.includes(name) ? '?' : '+'
  const cells = CONDITIONS.map((condition) => {
    // It has nothing to tell while it is sealed, and says so itself.
    const isServed = condition === undefined || (servedWhile[condition] === 'all' && !isLeaderSealed(name, condition))
    if (!isServed) return REFUSALS[condition] ?? 'rr'
    const nobody = access === 'open' || WITHOUT_TOKENS.includes(condition) ? passed : 't'
    const ordinary = condition !== undefined ? '' : access === 'sudo' ? 't' : passed
    return nobody + ordinary + passed
  })
  return `${cells.join(' ')} ${isRootOnly ? 'n' : '-'}`
}

const isLeaderSealed = (name: string, condition: Condition): boolean => name === 'sys/leader' && condition === 'sealed'

const rulesOf = (name: string): PathRules => paths.get(name)?.rules ?? NO_RULES

test('every path in every state lets through whom its rules say', async () => {
  const unlike: string[] = []
  // A server that is sealed in the end answers nothing else.
  for (const name of [...paths.keys()].toSorted((a, b) => Number(a === 'sys/seal') - Number(b === 'sys/seal'))) {
    const row = await rowOf(name)
    const expected = expectedRow(name, rulesOf(name))
    if (row !== expected) unlike.push(`${name}: ${row}, not ${expected}`)
  }
  expect(unlike).toEqual([])
})

test('every path is audited, but for those whose rules say otherwise', () => {
  const lines = readFileSync(auditFile, 'utf8').trim().split('\n')
  const logged = new Set(lines.map((line) => (JSON.parse(line) as { request: { path: string } }).request.path))
  const silent = [...paths.keys()].filter((name) => !logged.has(name) && !logged.has(`${name}/`))
  expect(silent).toEqual([...paths.keys()].filter((name) => rulesOf(name).isUnaudited))
  expect(silent).toContain('sys/health')
})
