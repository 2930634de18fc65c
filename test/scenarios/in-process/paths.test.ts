import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ApiAnswer, errorsOf } from '../../../src/client/api-client.js'
import type { PathSpec } from '../../../src/logical/backend.js'
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
let paths: ReadonlyMap<string, PathSpec | undefined>

beforeAll(async () => {
  active = await servers.active()
  paths = pathsOf(active)
  states = [
    await servers.uninitialized(),
    await servers.sealed(),
    await servers.restarting(),
    await servers.bootstrapping('performance', active),
    await servers.revoked(active),
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

/** What is not served, and has rules all the same. */
const UNSERVED = ['sys/raw', 'sys/raw/x', 'sys/rekey/x', 'sys/storage/x', 'sys/replication/x', 'sys/x']

const pathsOf = ({ server }: ServerInState): Map<string, PathSpec | undefined> => {
  const mounts = (server.runtime?.cluster?.services.router.all() ?? []).filter(({ namespace }) => namespace.path === '')
  const served = mounts.flatMap(({ view, backend }) =>
    backend.paths.map((spec) => [view.path + exampleOf(spec.pattern), spec] as const),
  )
  return new Map<string, PathSpec | undefined>([...UNSERVED.map((name) => [name, undefined] as const), ...served])
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
  ['r', 503, /^cluster is restarting/],
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

const sysNames = (...names: string[]): string[] =>
  names.flatMap((text) => text.trim().split(/\s+/)).map((n) => `sys/${n}`)

//           uninitialized, sealed, restarting, bootstrapping, revoked, bootstrapping for DR, DR, performance, active
const ORDINARY = 'ss ss rr rr rr rr dd t++ t++ -'
const EXCEPTIONS: Readonly<Record<string, readonly string[]>> = {
  '++ ++ ++ ++ ++ ++ ++ +++ +++ -': sysNames('health seal-status'),
  'ss ss ++ ++ ++ ++ ++ +++ +++ -': sysNames(
    'leader replication/status replication/dr/status replication/performance/status',
  ),
  '++ ++ ++ ++ ++ ++ dd +++ +++ n': sysNames('init unseal'),
  '++ ++ rr t+ t+ rr dd tt+ tt+ n': sysNames('seal'),
  '++ ++ rr rr ++ rr dd +++ +++ n': sysNames(
    'generate-root/attempt generate-root/update generate-root-token/attempt generate-root-token/update',
  ),
  '++ ++ rr rr rr rr dd +++ +++ n': sysNames('storage/raft/join'),
  'ss ss rr rr rr rr dd +++ +++ n': sysNames(
    'rekey/init rekey/update rekey/verify rekey/backup rekey/recovery-key-backup',
    'rekey-recovery-key/init rekey-recovery-key/update rekey-recovery-key/verify',
  ),
  'ss ss rr rr rr rr dd ??? ??? n': sysNames('rekey/x'),
  'ss ss rr rr rr rr dd +++ +++ -': [
    ...sysNames('internal/ui/mounts internal/ui/mounts/x wrapping/lookup internal/specs/openapi'),
    'auth/approle/login',
    'auth/userpass/login/x',
  ],
  'ss ss rr rr rr rr dd tt+ tt+ n': sysNames(
    'step-down rotate storage/raft/snapshot storage/raft/snapshot-force',
    'audit audit/x config/auditing/request-headers config/auditing/request-headers/x',
    'replication/dr/primary/secondary-token replication/performance/primary/secondary-token',
    'replication/primary/secondary-token',
    'replication/reindex replication/dr/reindex replication/performance/reindex',
  ),
  'ss ss rr rr rr rr dd tt+ tt+ -': [
    ...sysNames('auth/x/tune auth/x remount config/cors leases/lookup/x leases/revoke-prefix/x revoke-prefix/x'),
    'auth/token/accessors',
  ],
  'ss ss rr rr rr rr dd tt? tt? -': sysNames('raw raw/x'),
  'ss ss rr rr rr rr dd t++ t++ n': sysNames(
    'audit-hash/x license/status host-info in-flight-req config/state/sanitized metrics',
    ...['dr/', 'performance/', ''].map(
      (kind) =>
        `${['enable', 'demote', 'disable', 'revoke-secondary'].map((name) => `replication/${kind}primary/${name}`).join(' ')}
         replication/${kind}secondary/enable`,
    ),
    ...['performance/', ''].map(
      (kind) => `replication/${kind}secondary/promote replication/${kind}secondary/update-primary`,
    ),
    'replication/performance/secondary/generate-public-key replication/performance/primary/paths-filter/x',
    'replication/performance/primary/dynamic-filter/x replication/performance/secondary/dynamic-filter/x',
    'replication/recover replication/merkle-check',
  ),
  'ss ss rr rr rr rr dd t?? t?? n': sysNames('storage/x'),
  'ss ss rr rr rr rr dd t?? t?? -': sysNames('x replication/x'),
  'ss ss rr rr t+ rr dd t++ t++ n': sysNames('replication/performance/secondary/disable replication/secondary/disable'),
  'ss ss rr rr rr ++ ++ t++ t++ n': sysNames(
    'storage/raft/configuration storage/raft/autopilot/state storage/raft/autopilot/configuration',
    'replication/dr/secondary/generate-public-key',
  ),
  'ss ss rr rr rr ++ ++ +++ +++ n': sysNames(
    ...['promote disable update-primary reindex recover merkle-check operation-token/delete license/status']
      .concat('generate-operation-token/attempt generate-operation-token/update')
      .flatMap((names) => names.split(' '))
      .map((name) => `replication/dr/secondary/${name}`),
  ),
}

const UNAUDITED = sysNames(
  'health seal-status leader init unseal replication/status replication/dr/status replication/performance/status',
)

test('every path in every state lets through whom it should', async () => {
  const expected = new Map(Object.entries(EXCEPTIONS).flatMap(([row, names]) => names.map((name) => [name, row])))
  const unlike: string[] = []
  // A server that is sealed in the end answers nothing else.
  for (const name of [...paths.keys()].toSorted((a, b) => Number(a === 'sys/seal') - Number(b === 'sys/seal'))) {
    const row = await rowOf(name)
    if (row !== (expected.get(name) ?? ORDINARY)) unlike.push(`${name}: ${row}, not ${expected.get(name) ?? ORDINARY}`)
  }
  expect(unlike).toEqual([])
  expect([...expected.keys()].filter((name) => !paths.has(name))).toEqual([])
})

test('every path is audited, but for those that tell how a server is', () => {
  const lines = readFileSync(auditFile, 'utf8').trim().split('\n')
  const logged = new Set(lines.map((line) => (JSON.parse(line) as { request: { path: string } }).request.path))
  const silent = [...paths.keys()].filter((name) => !logged.has(name) && !logged.has(`${name}/`))
  expect(new Set(silent)).toEqual(new Set(UNAUDITED))
})
