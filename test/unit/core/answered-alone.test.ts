import { expect, test } from 'vitest'
import { isAnsweredAlone, SYSTEM_READS, UPDATES_ALONE } from '../../../src/core/system/answered-alone.js'
import { NO_RULES } from '../../../src/logical/path-rules.js'
import { startDevServer } from '../../support/memory-server.js'

/** Compares the table of requests that a performance standby answers with the paths of a server. */

test('every row of the table is an existing path with that verb', async () => {
  await using server = await startDevServer()
  for (const type of ['approle', 'userpass']) await server.client.write(`sys/auth/${type}`, { type })
  await server.client.write('sys/mounts/transit', { type: 'transit' })
  const { paths } = (await server.client.read('sys/internal/specs/openapi')) as { paths: Record<string, object> }
  // `{name}` of the OpenAPI document is `:name` or `*name` of the table, and an optional slash is a separate path.
  const plain = (pattern: string) =>
    pattern
      .replace(/\/\?$/, '')
      .replace(/\{[^}]+\}|[:*][a-z_]+/g, '{}')
      .replace(/\/$/, '')
  const known = new Map(Object.entries(paths).map(([at, verbs]) => [plain(at), Object.keys(verbs)]))
  const has = (path: string, verb: string) => known.get(plain(path))?.includes(verb)
  const mounts: Record<string, string> = { system: 'sys', token: 'auth/token', approle: 'auth/approle' }
  const updates = Object.entries(UPDATES_ALONE).flatMap(([type, patterns]) =>
    patterns.map((pattern) => `/${mounts[type] ?? type}/${pattern}`),
  )
  const reads = [...SYSTEM_READS].map((pattern) => `/sys/${pattern}`)
  expect(reads.filter((path) => !has(path, 'get'))).toEqual([])
  expect(updates.filter((path) => !has(path, 'post'))).toEqual([])
})

test('a standby answers reads of mounts, no reads about the active node, and only listed writes', () => {
  expect(isAnsweredAlone('kv', 'data/*path', 'read', NO_RULES)).toBe(true)
  expect(isAnsweredAlone('kv', 'metadata/*path', 'list', NO_RULES)).toBe(true)
  expect(isAnsweredAlone('kv', 'data/*path', 'update', NO_RULES)).toBe(false)
  expect(isAnsweredAlone('kv', 'data/*path', 'delete', NO_RULES)).toBe(false)
  expect(isAnsweredAlone('transit', 'encrypt/:name', 'create', NO_RULES)).toBe(true)
  expect(isAnsweredAlone('transit', 'keys/:name', 'update', NO_RULES)).toBe(false)
  expect(isAnsweredAlone('database', 'creds/:name', 'read', { createsLease: true })).toBe(false)
  expect(isAnsweredAlone('database', 'static-creds/:name', 'read', NO_RULES)).toBe(true)
  expect(isAnsweredAlone('approle', 'tidy/secret-id', 'update', NO_RULES)).toBe(false)
  expect(isAnsweredAlone('system', 'mounts', 'read', NO_RULES)).toBe(true)
  expect(isAnsweredAlone('system', 'mounts/*path', 'update', NO_RULES)).toBe(false)
  for (const pattern of ['replication/status', 'leases/lookup/?', 'storage/raft/snapshot', 'generate-root/attempt']) {
    expect(isAnsweredAlone('system', pattern, 'read', NO_RULES), pattern).toBe(false)
  }
  expect(isAnsweredAlone('system', 'constructor', 'read', NO_RULES)).toBe(false)
})
