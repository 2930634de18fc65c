import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ApiAnswer, ApiClient, errorsOf } from '../../../src/client/api-client.js'
import type { Kind } from '../../../src/lab/model/kinds.js'
import {
  enablePrimary,
  enableSecondary,
  initialize,
  secondaryToken,
  statusOf,
} from '../../../src/lab/requests/replication.js'
import type { PathSpec } from '../../../src/logical/backend.js'
import { type Condition, NO_RULES, type PathRules } from '../../../src/logical/path-rules.js'
import { systemRulesOf } from '../../../src/core/system/system-rules.js'
import type { Server } from '../../../src/server/server.js'
import { freePorts, localConfig } from '../../support/local-config.js'
import { sourceBehindGate, startServer } from '../../support/memory-server.js'
import { until } from '../../support/until.js'

/**
 * The paths that a server serves in each of its states, and for whom. Each path is called with a verb that it does not
 * support, so that no request has an effect.
 */

/** A server of this process in one of its states, and who may be asking it. */
interface ServerInState {
  readonly server: Server
  readonly client: ApiClient
  /** May do everything that needs no sudo; where there can be such a token. */
  readonly ordinary?: string
  /** As good as none where tokens cannot be looked at. */
  readonly root: string
}

const UNKNOWN = 'hvs.unknown'

/** As much as a policy can give without sudo. */
const ORDINARY = 'path "*" { capabilities = ["create", "read", "update", "patch", "delete", "list"] }'

/** One server for each state that rules about paths speak of. `close` ends them all. */
class ServersInStates {
  readonly #ended: (() => Promise<void>)[] = []

  async close(): Promise<void> {
    for (const end of this.#ended.reverse()) await end()
  }

  async uninitialized(): Promise<ServerInState> {
    const { server, client } = await this.#start()
    return { server, client, root: UNKNOWN }
  }

  async sealed(): Promise<ServerInState> {
    const state = await this.uninitialized()
    await state.client.write('sys/init', { secret_shares: 1, secret_threshold: 1 })
    return state
  }

  /** With a primary of both kinds of replication, a namespace and a mount of each type. */
  async active(): Promise<ServerInState> {
    const { server, client } = await this.#start()
    const { rootToken: root } = await initialize(client, 1, 1)
    const asRoot = this.#as(client, root)
    await asRoot.write('sys/policies/acl/ordinary', { policy: ORDINARY })
    await asRoot.write('sys/namespaces/team')
    await asRoot.write('sys/auth/approle', { type: 'approle' })
    await asRoot.write('sys/auth/userpass', { type: 'userpass' })
    await asRoot.write('sys/mounts/kv', { type: 'kv', options: { version: '1' } })
    await asRoot.write('sys/mounts/secret', { type: 'kv', options: { version: '2' } })
    for (const kind of ['dr', 'performance'] as const) {
      await enablePrimary(asRoot, kind)
      await until(async () => (await statusOf(client, kind)).mode === 'primary')
    }
    return { server, client, ordinary: await ordinaryToken(asRoot), root }
  }

  async secondary(kind: Kind, primary: ServerInState): Promise<ServerInState> {
    const { server, client } = await this.#join(kind, primary, () => undefined)
    await until(async () => (await statusOf(client, kind)).state === 'stream-wals')
    if (kind === 'dr') return { server, client, root: primary.root }
    const root = await ownRoot(server)
    return { server, client, ordinary: await ordinaryToken(this.#as(client, root)), root }
  }

  /** Waits for its first copy. */
  async bootstrapping(kind: Kind, primary: ServerInState): Promise<ServerInState> {
    const { server, client } = await this.#join(kind, primary, ({ holds }) => holds.hold(kind, 'bootstrapping'))
    await until(() => server.holds.list().some(({ isReached }) => isReached))
    return { server, client, root: kind === 'dr' ? UNKNOWN : await ownRoot(server) }
  }

  /** A performance secondary that its primary cut off before its first copy was complete. */
  async stranded(primary: ServerInState): Promise<ServerInState> {
    const state = await this.bootstrapping('performance', primary)
    const body = { id: idOf(state.client) }
    await this.#as(primary.client, primary.root).write('sys/replication/performance/primary/revoke-secondary', body)
    state.server.holds.release()
    await until(() => state.server.runtime?.cluster?.replication.view.isStranded === true)
    return { ...state, root: await ownRoot(state.server) }
  }

  /** Between two runtimes, until it is closed. */
  async restarting(): Promise<ServerInState> {
    const { server, client, gate } = await this.#start({ role_change_wait: '0' })
    const { rootToken: root } = await initialize(client, 1, 1)
    gate.isHeld = true
    server.host.restart('a test')
    await until(() => server.runtime === undefined)
    return { server, client, root }
  }

  async #join(kind: Kind, primary: ServerInState, prepare: (server: Server) => void) {
    const { server, client } = await this.#start()
    const { rootToken } = await initialize(client, 1, 1)
    prepare(server)
    const token = await secondaryToken(this.#as(primary.client, primary.root), kind, idOf(client))
    await enableSecondary(this.#as(client, rootToken), kind, token)
    return { server, client }
  }

  async #start(settings: Readonly<Record<string, string>> = {}) {
    const { data, gate } = sourceBehindGate()
    const local = localConfig(await freePorts(), { understudy: settings })
    const server = await startServer(local, { data })
    const client = new ApiClient({ address: local.api_addr })
    this.#ended.push(async () => {
      gate.isHeld = false
      client.close()
      await server.close(0)
    })
    return { server, client, gate }
  }

  #as(client: ApiClient, token: string): ApiClient {
    const other = client.with({ token })
    this.#ended.push(async () => other.close())
    return other
  }
}

const idOf = ({ address }: ApiClient): string => `at-${new URL(address).port}`

const ordinaryToken = async (asRoot: ApiClient): Promise<string> => {
  const made = await asRoot.write('auth/token/create', { policies: ['ordinary'], no_default_policy: true })
  return String((made.auth as { client_token: unknown }).client_token)
}

const ownRoot = async ({ runtime }: Server): Promise<string> => {
  const made = await runtime?.cluster?.services.tokens.createRoot()
  if (!made) throw new Error('the cluster is closed')
  return made.id
}

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

/** Unsupported paths; some of them have rules nonetheless. */
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

/** The verbs of paths that check the verb first, and of paths that are served without a runtime. */
const OWN_VERBS: Readonly<Record<string, string>> = {
  'sys/health': 'GET',
  'sys/seal-status': 'GET',
  'sys/seal-backend-status': 'GET',
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

/**
 * Classes of responses, by status and text. `+`: no rule of the path rejected the request. `?`: there is no such path.
 */
const CLASSES: readonly (readonly [string, number, RegExp])[] = [
  ['s', 503, /^Vault is sealed$/],
  ['r', 503, /^(cluster is restarting|the first copy of this)/],
  ['d', 400, /^path disabled in replication DR secondary mode$/],
  ['n', 400, /^operation unavailable in namespaces$/],
  ['t', 403, /permission denied|token is empty/],
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

/**
 * Returns the row of a path: first root in a namespace, because some paths exist only in the root namespace. Then for
 * each state: no token, an ordinary token if one can exist, and root.
 */
const rowOf = async (name: string): Promise<string> => {
  const below = (await ask(active, name, active.root, 'team')) === 'n' ? 'n' : '-'
  const cells = states.map(async (state) => {
    let cell = ''
    // In sequence, because a request of root may seal the server.
    for (const token of askers(state)) cell += await ask(state, name, token)
    return cell
  })
  return `${(await Promise.all(cells)).join(' ')} ${below}`
}

/** The conditions of the states, in their order; undefined means that everything is served. */
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
/** Conditions under which tokens are not checked. */
const WITHOUT_TOKENS: readonly (Condition | undefined)[] = ['sealed', 'restarting', 'dr-bootstrapping', 'dr']

/** Returns the row that the rules of a path predict. */
const expectedRow = (name: string, { access, servedWhile = {}, isRootOnly }: PathRules): string => {
  const passed = UNSERVED.includes(name) ? '?' : '+'
  const cells = CONDITIONS.map((condition) => {
    // The path has no information while the server is sealed, and checks this itself.
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

test('every path in every state permits exactly the callers of its rules', async () => {
  const unlike: string[] = []
  // sys/seal comes last, because a sealed server rejects all other paths.
  for (const name of [...paths.keys()].toSorted((a, b) => Number(a === 'sys/seal') - Number(b === 'sys/seal'))) {
    const row = await rowOf(name)
    const expected = expectedRow(name, rulesOf(name))
    if (row !== expected) unlike.push(`${name}: ${row}, not ${expected}`)
  }
  expect(unlike).toEqual([])
})

test('every path is audited unless its rules exempt it', () => {
  const lines = readFileSync(auditFile, 'utf8').trim().split('\n')
  const logged = new Set(lines.map((line) => (JSON.parse(line) as { request: { path: string } }).request.path))
  const silent = [...paths.keys()].filter((name) => !logged.has(name) && !logged.has(`${name}/`))
  expect(silent).toEqual([...paths.keys()].filter((name) => rulesOf(name).isUnaudited))
  expect(silent).toContain('sys/health')
})
