import { systemClock } from '../../src/base/clock.js'
import {
  enablePrimary,
  enableSecondary,
  findLag,
  generateRoot,
  secondaryToken,
} from '../../src/lab/requests/replication.js'
import type { Kind } from '../../src/lab/model/kinds.js'
import { waitFor } from '../../src/lab/requests/wait.js'
import type { BenchServer } from './servers.js'
import type { Work } from './load/generator.js'

const WAIT_MS = 600_000
const LIMITED_IDS = 64
const USES = 100_000_000

/** A secret of a typical size. */
export const SECRET = { username: 'app', password: '0123456789abcdef0123456789abcdef' }

/** Mounts `kv1/` and `kv2/`. */
export const mountEngines = async (server: BenchServer): Promise<void> => {
  const client = server.client()
  await client.write('sys/mounts/kv1', { type: 'kv', options: { version: '1' } })
  await client.write('sys/mounts/kv2', { type: 'kv', options: { version: '2' } })
  const mounted = async () => {
    await client.write('kv2/data/first', { data: SECRET })
    return undefined
  }
  await waitFor(systemClock, 'kv2 to be ready', mounted, WAIT_MS)
}

export interface LoginBodies {
  readonly service: string
  readonly batch: string
  /** Bodies with a SecretID that has a limited number of uses. */
  readonly limited: readonly string[]
}

/** Creates AppRole roles and SecretIDs, and returns the bodies of logins. */
export const setUpAppRole = async (server: BenchServer): Promise<LoginBodies> => {
  const client = server.client()
  await client.write('sys/auth/approle', { type: 'approle' })
  await client.write('sys/policies/acl/app', { policy: 'path "kv1/*" { capabilities = ["read", "update", "create"] }' })
  const makeRole = async (name: string, type: string, uses: number, count: number): Promise<string[]> => {
    const role = `auth/approle/role/${name}`
    await client.write(role, { token_policies: 'app', token_type: type, token_ttl: '1h', secret_id_num_uses: uses })
    const { role_id } = (await client.read(`${role}/role-id`)).data as { role_id: string }
    const bodies: string[] = []
    for (let n = 0; n < count; n++) {
      const { secret_id } = (await client.write(`${role}/secret-id`)).data as { secret_id: string }
      bodies.push(JSON.stringify({ role_id, secret_id }))
    }
    return bodies
  }
  const [service = ''] = await makeRole('service', 'service', 0, 1)
  const [batch = ''] = await makeRole('batch', 'batch', 0, 1)
  return { service, batch, limited: await makeRole('limited', 'service', USES, LIMITED_IDS) }
}

/** Enables `secondary` as a performance secondary, and waits until it has replicated and has a root token. */
export const follow = async (primary: BenchServer, secondary: BenchServer): Promise<void> => {
  await attach(primary, secondary, 'performance')
  await waitForReplication(primary, secondary)
  await renewRootToken(secondary)
}

/** Enables a server as a secondary, which wipes it. Resolves when the server accepts the request. */
export const attach = async (primary: BenchServer, secondary: BenchServer, kind: Kind): Promise<void> => {
  const token = await secondaryToken(primary.client(), kind, `${kind}-${secondary.name}`)
  await enableSecondary(secondary.client(), kind, token)
  secondary.unsealKeys = primary.unsealKeys
}

const renewRootToken = async (secondary: BenchServer): Promise<void> => {
  const open = secondary.client().with({ token: undefined })
  const generate = async () => {
    secondary.rootToken = await generateRoot(open, secondary.unsealKeys)
    return undefined
  }
  await waitFor(systemClock, 'a root token', generate, WAIT_MS)
}

export const becomePrimary = async (server: BenchServer, kind: Kind = 'performance'): Promise<void> => {
  const client = server.client()
  await enablePrimary(client, kind)
  const isReady = async () => {
    await secondaryToken(client, kind, 'probe')
    return undefined
  }
  await waitFor(systemClock, 'the primary to be ready', isReady, WAIT_MS)
}

export const waitForReplication = (
  primary: BenchServer,
  secondary: BenchServer,
  kind: Kind = 'performance',
): Promise<void> => {
  const open = secondary.client().with({ token: undefined })
  const lag = () => findLag(primary.client(), open, kind)
  return waitFor(systemClock, `${secondary.name} to follow`, lag, WAIT_MS)
}

const SPREAD = 10_000

/** The measured kinds of requests for one server. */
export const requestsOf = (server: BenchServer, logins: LoginBodies) => {
  const common = { port: server.apiPort, headers: { 'X-Vault-Token': server.rootToken } }
  const open = { port: server.apiPort, method: 'PUT', path: '/v1/auth/approle/login' }
  const secret = JSON.stringify(SECRET)
  return {
    'KV v1 read': { ...common, method: 'GET', path: '/v1/kv1/read/{n}', spread: 100 },
    'KV v1 write': { ...common, method: 'PUT', path: '/v1/kv1/k{n}', body: secret, spread: SPREAD },
    'KV v2 read': { ...common, method: 'GET', path: '/v1/kv2/data/read/{n}', spread: 100 },
    'KV v2 write': { ...common, method: 'PUT', path: '/v1/kv2/data/k{n}', body: `{"data":${secret}}`, spread: SPREAD },
    'token create': { ...common, method: 'PUT', path: '/v1/auth/token/create', body: '{"ttl":"1h"}' },
    'token lookup-self': { ...common, method: 'GET', path: '/v1/auth/token/lookup-self' },
    'AppRole login, service': { ...open, body: logins.service },
    'AppRole login, limited SecretID': { ...open, body: '{item}', items: logins.limited },
    'AppRole login, batch': { ...open, body: logins.batch },
  } satisfies Record<string, Work>
}

/** Writes the keys that the reads request. */
export const fillForReads = async (server: BenchServer): Promise<void> => {
  const client = server.client()
  for (let n = 0; n < 100; n++) {
    await client.write(`kv1/read/${n}`, SECRET)
    await client.write(`kv2/data/read/${n}`, { data: SECRET })
  }
}
