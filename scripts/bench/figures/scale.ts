import { performance } from 'node:perf_hooks'
import { systemClock } from '../../../src/base/clock.js'
import type { ApiClient } from '../../../src/client/api-client.js'
import { fillForReads, type LoginBodies, mountEngines, setUpAppRole, requestsOf } from '../clusters.js'
import { fillStopped } from '../load/fill.js'
import type { Work } from '../load/generator.js'
import { warmUp } from '../load/warm-up.js'
import { residentMb } from '../machine.js'
import { lastIndex, waitUntil } from '../position.js'
import type { BenchServer } from '../servers.js'
import { median } from '../stats.js'
import type { Bench } from './context.js'

/** Numbers of other objects for each key of the server. */
const PER_KEY = { tokens: 0.2, roles: 0.01 }
/** Numbers of objects that do not depend on the number of keys. */
const TABLES = { mounts: 1000, policies: 1000, namespaces: 500 }
const QUICK_TABLES = { mounts: 20, policies: 20, namespaces: 10 }
/** The share of tokens that expire while the server is stopped. */
const ENDING = 0.1
const ENDING_TTL_SECONDS = 5

const CONNECTIONS = 64
const WARM_UP = 10_000
/** The load is low, so a slow request has waited for other work of the server, not for other requests. */
const CALM = { connections: 8, ratePerSecond: 200 }
const CLIENTS = 8

const COMPARED = {
  'KV v1 read': '19b',
  'KV v1 write': '19c',
  'AppRole login, service': '19d',
} as const

type Compared = keyof typeof COMPARED

interface Subject {
  readonly server: BenchServer
  readonly works: Record<Compared, Work>
}

/** Figure 19: a server with much data beside a server with little data. */
export const measureScale = async (bench: Bench): Promise<undefined> => {
  const empty = await prepare(await bench.server('empty'))
  const full = await prepare(await bench.server('full'))
  await fillStopped(full.server, bench.dist, bench.scaleKeys)
  const brief = await populate(bench, full.server)
  await restart(bench, full.server)
  await watchExpiry(bench, full, brief)
  bench.note('memory after the sweep of expired tokens', residentMb(full.server.pid), 'MB')
  await watchTidy(bench, full)
  await compare(bench, full, empty)
  bench.note('memory of the full server after load', residentMb(full.server.pid), 'MB')
  bench.note('memory of the empty server after load', residentMb(empty.server.pid), 'MB')
  const anyKey = { ...full.works['KV v1 read'], path: '/v1/kv1/k{n}', spread: bench.scaleKeys }
  const { cpuMicros } = await bench.generator.loadWithCpu(full.server.pid, anyKey, CONNECTIONS, bench.seconds)
  bench.note('processor time of reads of keys that were not read before', cpuMicros, 'us')
  return undefined
}

const prepare = async (server: BenchServer): Promise<Subject> => {
  await mountEngines(server)
  await fillForReads(server)
  const logins: LoginBodies = await setUpAppRole(server)
  return { server, works: requestsOf(server, logins) }
}

/** Creates everything except the keys. Resolves to the number of tokens that expire soon. */
const populate = async (bench: Bench, server: BenchServer): Promise<number> => {
  const client = server.client()
  const count = (what: keyof typeof PER_KEY) => Math.ceil(bench.scaleKeys * PER_KEY[what])
  const policy = 'path "kv1/*" { capabilities = ["read"] }'
  const startMs = performance.now()
  const { mounts, policies, namespaces } = bench.isQuick ? QUICK_TABLES : TABLES
  await forAll(mounts, (n) => client.write(`sys/mounts/many${n}`, { type: 'kv' }))
  await forAll(policies, (n) => client.write(`sys/policies/acl/many${n}`, { policy }))
  await forAll(namespaces, (n) => client.write(`sys/namespaces/space${n}`))
  const common = { port: server.apiPort, headers: { 'X-Vault-Token': server.rootToken }, method: 'PUT' }
  bench.note('time to create mounts, policies and namespaces', (performance.now() - startMs) / 1000, 's')
  const roles = count('roles')
  const role = { ...common, path: '/v1/auth/approle/role/many{n}', spread: roles }
  await warmUp(bench.generator, { ...role, body: '{"token_policies":"app"}' }, roles)
  await warmUp(bench.generator, { ...role, path: `${role.path}/secret-id`, body: '{"ttl":"1s"}' }, roles)
  const tokens = count('tokens')
  const token = { ...common, path: '/v1/auth/token/create' }
  await warmUp(bench.generator, { ...token, body: '{"ttl":"24h","policies":["app"]}' }, tokens * (1 - ENDING))
  const brief = Math.ceil(tokens * ENDING)
  bench.note(
    'time to create everything except keys and tokens that expire soon',
    (performance.now() - startMs) / 1000,
    's',
  )
  await warmUp(bench.generator, { ...token, body: `{"ttl":"${ENDING_TTL_SECONDS}s","policies":["app"]}` }, brief)
  return brief
}

const forAll = async (count: number, make: (n: number) => Promise<unknown>): Promise<void> => {
  let next = 0
  const worker = async () => {
    while (next < count) await make(next++)
  }
  await Promise.all(Array.from({ length: CLIENTS }, worker))
}

const restart = async (bench: Bench, server: BenchServer): Promise<void> => {
  await server.stop()
  await systemClock.sleep(ENDING_TTL_SECONDS * 1000)
  const startMs = performance.now()
  await server.start()
  bench.note('full server: start to the first response', (performance.now() - startMs) / 1000, 's')
  await server.unseal()
  await waitUntil('a secret to be read', () => isRead(server.client()))
  bench.add('19a', (performance.now() - startMs) / 1000)
}

const isRead = async (client: ApiClient): Promise<boolean> => (await client.read('kv1/read/1')).data !== undefined

const readCalmly = async (bench: Bench, work: Work): Promise<number> =>
  (await bench.generator.load({ ...work, ...CALM, warmupSeconds: 0 }, CALM.connections, bench.seconds * 2)).p99Ms

/** Measures reads while the sweep of expired tokens, which begins with the start, is the only writer. */
const watchExpiry = async (bench: Bench, { server, works }: Subject, brief: number): Promise<void> => {
  const client = server.client()
  const first = await lastIndex(client)
  bench.add('19e', await readCalmly(bench, works['KV v1 read']))
  const swept = (await lastIndex(client)) - first
  bench.note('tokens that expired while the server was stopped', brief, '')
  bench.note('entries of the sweep during the measurement', swept, '')
  let before = -1
  // The sweep has ended when the log no longer grows.
  await waitUntil(
    'the sweep to end',
    async () => {
      const now = await lastIndex(client)
      const stands = now === before
      before = now
      return stands
    },
    1000,
  )
  bench.note('p99 of reads after the sweep', await readCalmly(bench, works['KV v1 read']), 'ms')
}

const watchTidy = async (bench: Bench, { server, works }: Subject): Promise<void> => {
  const client = server.client()
  const first = await lastIndex(client)
  await client.write('auth/approle/tidy/secret-id')
  bench.add('19f', await readCalmly(bench, works['KV v1 read']))
  bench.note('entries of the tidy during the measurement', (await lastIndex(client)) - first, '')
}

/** Compares processor times, because rates depend on other processes of the machine. */
const compare = async (bench: Bench, full: Subject, empty: Subject): Promise<void> => {
  for (const name of Object.keys(COMPARED) as Compared[]) {
    const micros = { full: [] as number[], empty: [] as number[] }
    const rates = { full: [] as number[], empty: [] as number[] }
    for (const { works } of [full, empty]) await warmUp(bench.generator, works[name], bench.isQuick ? 500 : WARM_UP)
    for (let round = 0; round < bench.rounds; round++) {
      for (const [side, { server, works }] of [['full', full] as const, ['empty', empty] as const]) {
        const found = await bench.generator.loadWithCpu(server.pid, works[name], CONNECTIONS, bench.seconds)
        micros[side].push(found.cpuMicros)
        rates[side].push(found.rate)
      }
    }
    bench.add(COMPARED[name], median(micros.empty) / median(micros.full))
    bench.note(`${name}: processor time, full`, median(micros.full), 'us')
    bench.note(`${name}: processor time, empty`, median(micros.empty), 'us')
    bench.note(`${name}: rate kept`, median(rates.full) / median(rates.empty), '')
  }
}
