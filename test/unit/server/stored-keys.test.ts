import * as openpgp from 'openpgp'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { systemClock } from '../../../src/base/clock.js'
import { ApiClient } from '../../../src/client/api-client.js'
import {
  enablePrimary,
  enableSecondary,
  encryptedToken,
  generateOperationToken,
  initialize,
  initializeAuto,
  secondaryToken,
  statusOf,
} from '../../../src/lab/requests/replication.js'
import { MemoryLog } from '../../../src/storage/shared-log/memory-log.js'
import { MemorySharedLog } from '../../../src/storage/shared-log/memory-shared-log.js'
import type { SharedLog } from '../../../src/storage/shared-log/shared-log.js'
import { prefixRange } from '../../../src/storage/engine/engine.js'
import type { EngineSource } from '../../../src/storage/engine/engine-source.js'
import { openMemoryGenerations } from '../../../src/storage/engine/memory-generations.js'
import { findFamily, KEYS } from '../../../src/storage/keys/key-families.js'
import { DATA_PREFIX } from '../../../src/storage/keys/raw-keys.js'
import { freePorts, localConfig } from '../../support/local-config.js'
import { startServer } from '../../support/memory-server.js'
import { until } from '../../support/until.js'

/** The keys that servers with every kind of data store, compared with the table of keys. */

interface Started {
  readonly client: ApiClient
  readonly unsealKeys: readonly string[]
  readonly data: EngineSource
}

const SEAL = { static: { current_key_id: '1', current_key: Buffer.alloc(32, 1).toString('base64') } }

interface Kind {
  readonly isAuto?: boolean
  /** Set on a node of several. */
  readonly sharedLog?: SharedLog
}

const ended: (() => Promise<void>)[] = []
afterAll(async () => {
  for (const end of ended.splice(0).reverse()) await end()
})

const start = async ({ isAuto = false, sharedLog }: Kind = {}): Promise<Started> => {
  const local = localConfig(await freePorts(), isAuto ? { seal: SEAL } : {})
  const data = openMemoryGenerations()
  const server = await startServer(local, { sharedLog, data })
  const anonymous = new ApiClient({ address: local.api_addr })
  const { rootToken, unsealKeys } = await (isAuto ? initializeAuto : initialize)(anonymous, 1, 1)
  const client = anonymous.with({ token: rootToken })
  ended.push(async () => {
    anonymous.close()
    client.close()
    await server.close(0)
  })
  return { client, unsealKeys, data }
}

const keysOf = async ({ data }: Started): Promise<string[]> => {
  const keys: string[] = []
  for await (const chunk of data.engine.scan(prefixRange(DATA_PREFIX))) {
    for (const { key } of chunk) keys.push(key.slice(DATA_PREFIX.length))
  }
  return keys
}

const fillServer = async (client: ApiClient): Promise<void> => {
  await client.write('sys/namespaces/team')
  await client.with({ namespace: 'team' }).write('sys/policies/acl/p', { policy: 'path "a" {}' })
  await client.write('sys/policies/password/p', { policy: 'length = 8 rule "charset" { charset = "ab" }' })
  await client.write('sys/config/cors', { allowed_origins: '*' })
  await client.write('sys/rotate/config', { interval: '48h' })
  await client.write('sys/quotas/rate-limit/q', { rate: 1000, path: 'team' })
  for (const [path, body] of [
    ['kv1', { type: 'kv' }],
    ['kv2', { type: 'kv', options: { version: '2' } }],
    ['here', { type: 'kv', local: true }],
  ] as const) {
    await client.write(`sys/mounts/${path}`, body)
  }
  await client.write('kv1/a', { a: 1 })
  await client.write('kv2/data/a', { data: { a: 1 } })
  await client.write('here/a', { a: 1 })
  await client.write('cubbyhole/a', { a: 1 })
  await client.write('sys/auth/approle', { type: 'approle' })
  await client.write('sys/auth/machines', { type: 'approle', local: true })
  await client.write('sys/auth/people', { type: 'userpass' })
  await client.write('auth/people/users/joe', { password: 'p' })
  for (const path of ['auth/approle/role/r', 'auth/machines/role/r']) {
    await client.write(path, { local_secret_ids: path.includes('approle') })
    await client.write(`${path}/secret-id`)
  }
  await client.write('auth/people/login/joe', { password: 'p' })
  await client.write('auth/token/roles/r')
  await client.write('auth/token/create/r', { ttl: '1h' })
  const { id } = (await client.write('identity/entity', { name: 'e' })).data as { id: string }
  await client.write('identity/group', { name: 'g', member_entity_ids: id })
  await client.call('GET', 'kv1/a', { headers: { 'X-Vault-Wrap-TTL': '60', 'X-Vault-Wrap-Format': 'jwt' } })
  await client.write('sys/config/auditing/request-headers/x-own')
  for (const local of [true, false]) {
    await client.write(`sys/audit/${local}`, { type: 'file', local, options: { file_path: 'discard' } })
  }
}

const rekeyWithBackup = async ({ client, unsealKeys }: Started): Promise<string> => {
  const holder = await openpgp.generateKey({ userIDs: [{ name: 'holder' }], format: 'object' })
  const pgp_keys = [Buffer.from(holder.publicKey.write()).toString('base64')]
  const begun = await client.write('sys/rekey/init', { secret_shares: 1, secret_threshold: 1, pgp_keys, backup: true })
  const done = await client.write('sys/rekey/update', { key: unsealKeys[0], nonce: begun.nonce })
  const [share = ''] = done.keys_base64 as string[]
  const message = await openpgp.readMessage({ binaryMessage: Buffer.from(share, 'base64') })
  const { data } = await openpgp.decrypt({ message, decryptionKeys: holder.privateKey })
  return String(data)
}

const joined = async (client: ApiClient, kind: 'dr' | 'performance'): Promise<void> =>
  until(async () => (await statusOf(client, kind)).state === 'stream-wals')

const stored: string[] = []

beforeAll(async () => {
  const [a, b, c, d] = [await start(), await start(), await start(), await start({ isAuto: true })]
  const log = new MemoryLog({ clock: systemClock, leaseMs: 10_000 })
  const e = await start({ sharedLog: new MemorySharedLog(log, systemClock) })
  await until(async () => (await e.client.send('GET', 'sys/health')).status === 200)
  await fillServer(a.client)
  const share = await rekeyWithBackup(a)
  for (const kind of ['performance', 'dr'] as const) {
    await enablePrimary(a.client, kind)
    await until(async () => (await statusOf(a.client, kind)).mode === 'primary')
    await until(async () => (await a.client.send('GET', 'sys/internal/ui/mounts')).status === 200)
  }
  await a.client.write('sys/replication/performance/primary/paths-filter/c', { mode: 'deny', paths: ['kv1'] })
  await enableSecondary(b.client, 'dr', await secondaryToken(a.client, 'dr', 'b'))
  const token = await encryptedToken(a.client, c.client, 'performance', 'c')
  stored.push(...(await keysOf(c)))
  await enableSecondary(c.client, 'performance', token)
  await joined(b.client, 'dr')
  await joined(c.client, 'performance')
  await generateOperationToken((path, body) => b.client.write(path, body), [share])
  await a.client.write('sys/replication/reindex')
  for (const server of [a, b, c, d, e]) stored.push(...(await keysOf(server)))
}, 120_000)

test('every key that servers store is in the table', () => {
  expect(stored.filter((key) => findFamily(key) === undefined)).toEqual([])
})

test('every row of the table is stored, except for temporary keys', () => {
  const seen = new Set(stored.map((key) => findFamily(key)?.at))
  // Only a secondary that is behind its primary keeps such a key.
  const passing: readonly string[] = [
    KEYS.cleanupOrders,
    KEYS.localCleanupOrders,
    KEYS.devRoot,
    KEYS.losses,
    KEYS.purgeMark,
    KEYS.announced,
    // Only a server with a database has leases of secrets.
    KEYS.secretLeases,
    // Keys of servers that other servers can join.
    KEYS.peers,
    KEYS.autopilot,
    KEYS.autoSnapshots,
    KEYS.revokedNodes,
  ]
  expect(Object.values(KEYS).filter((at) => !seen.has(at) && !passing.includes(at))).toEqual([])
})
