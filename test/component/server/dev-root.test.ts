import { expect, onTestFinished, test } from 'vitest'
import type { Log } from '../../../src/base/log.js'
import { ApiClient } from '../../../src/client/api-client.js'
import {
  enablePrimary,
  enableSecondary,
  initialize,
  secondaryToken,
  statusOf,
} from '../../../src/lab/requests/replication.js'
import { KEYS } from '../../../src/storage/keys/key-families.js'
import type { EngineSource } from '../../../src/storage/engine/engine-source.js'
import { devFlags, freePorts, localConfig } from '../../support/local-config.js'
import { sourceWith, startServer } from '../../support/memory-server.js'
import { findText } from '../../support/stored-bytes.js'
import { until } from '../../support/until.js'

/** The root token of a development server on a development server that joins it. */
const ROOT = 'root-of-the-first-server'
const OWN_ROOT = 'root-of-the-second-server'

interface Started {
  readonly rootToken: string
  readonly client: ApiClient
  readonly data: EngineSource
  /** Entries of the new generation at the moment when it becomes live after a wipe. */
  readonly begun: { readonly key: string; readonly value: string }[]
  readonly logged: string[]
}

const recording = (logged: string[]): Log => {
  const write = (message: string, fields?: Record<string, unknown>) =>
    void logged.push(`${message} ${JSON.stringify(fields ?? {})}`)
  const log: Log = { trace: write, debug: write, info: write, warn: write, error: write, with: () => log }
  return log
}

const start = async (isDev: boolean, chosenRoot: string): Promise<Started> => {
  const ports = await freePorts()
  const { api_addr, cluster_addr, ...rest } = localConfig(ports)
  const begun: Started['begun'] = []
  const data = sourceWith((source) => ({
    replace: (prepare) =>
      source.replace(async (fresh) => {
        await prepare(fresh)
        for await (const chunk of fresh.scan({})) {
          for (const { key, value } of chunk) begun.push({ key, value: value.toString('latin1') })
        }
      }),
  }))
  const logged: string[] = []
  const server = await startServer(
    { api_addr, cluster_addr, ...(isDev ? {} : rest) },
    { flags: isDev ? devFlags(ports, chosenRoot) : [], log: recording(logged), data },
  )
  const anonymous = new ApiClient({ address: api_addr })
  const token = isDev ? chosenRoot : (await initialize(anonymous, 1, 1)).rootToken
  const client = anonymous.with({ token })
  onTestFinished(async () => {
    anonymous.close()
    client.close()
    await server.close(0)
  })
  return { rootToken: token, client, data, begun, logged }
}

const join = async (primary: ApiClient, secondary: ApiClient, kind: 'performance' | 'dr'): Promise<void> => {
  await enablePrimary(primary, kind)
  await until(async () => (await statusOf(primary, kind)).mode === 'primary')
  await until(async () => (await primary.send('GET', 'sys/internal/ui/mounts')).status === 200)
  await enableSecondary(secondary, kind, await secondaryToken(primary, kind, 's'))
  await until(async () => (await statusOf(secondary, kind)).state === 'stream-wals')
}

const lookUp = async (client: ApiClient, token: string) => {
  const { status, json } = await client.send('GET', 'auth/token/lookup-self', { token })
  return { status, data: (json?.data ?? {}) as Record<string, unknown> }
}

test('the dev root token works on a performance secondary if both run with -dev', async () => {
  const [a, c] = [await start(true, ROOT), await start(true, OWN_ROOT)]
  await join(a.client, c.client, 'performance')
  expect(await lookUp(c.client, ROOT)).toMatchObject({ status: 200, data: { policies: ['root'], ttl: 0 } })
  expect((await lookUp(c.client, OWN_ROOT)).status).toBe(403)
  expect(
    (await c.client.send('POST', 'sys/mounts/here', { token: ROOT, body: { type: 'kv', local: true } })).status,
  ).toBe(204)
  for (const { data, logged } of [a, c]) {
    expect(await findText(data.engine, ROOT)).toEqual([])
    expect(logged.filter((line) => line.includes(ROOT))).toEqual([])
  }
  expect(await findText(c.data.engine, KEYS.devRoot)).toEqual([])

  expect((await c.client.send('POST', 'auth/token/revoke-self', { token: ROOT })).status).toBe(204)
  expect([(await lookUp(c.client, ROOT)).status, (await lookUp(a.client, ROOT)).status]).toEqual([403, 200])
})

test('the dev root token is encrypted in the storage of the secondary until it is planted', async () => {
  const [a, c] = [await start(true, ROOT), await start(true, OWN_ROOT)]
  await join(a.client, c.client, 'performance')
  expect(c.begun.filter(({ key }) => key.endsWith(KEYS.devRoot))).toHaveLength(1)
  const inner = Buffer.from(ROOT).toString('base64').slice(0, 24)
  for (const { key, value } of c.begun) expect(value.includes(ROOT) || value.includes(inner), key).toBe(false)
})

test.each([
  ['the secondary does not run with -dev', true, false],
  ['the primary does not run with -dev', false, true],
])('the dev root token does not reach a performance secondary if %s', async (_what, isPrimaryDev, isSecondaryDev) => {
  const [a, c] = [await start(isPrimaryDev, ROOT), await start(isSecondaryDev, OWN_ROOT)]
  await join(a.client, c.client, 'performance')
  expect((await lookUp(a.client, a.rootToken)).status).toBe(200)
  for (const token of [a.rootToken, c.rootToken]) expect((await lookUp(c.client, token)).status).toBe(403)
  expect(await findText(c.data.engine, KEYS.devRoot)).toEqual([])
})

test('a revoked dev root token does not reach a performance secondary', async () => {
  const [a, c] = [await start(true, ROOT), await start(true, OWN_ROOT)]
  const made = await a.client.call('POST', 'auth/token/create-orphan', { body: { policies: ['root'] } })
  const other = (made.auth as { client_token: string }).client_token
  await a.client.write('auth/token/revoke-self')
  await join(a.client.with({ token: other }), c.client, 'performance')
  expect((await lookUp(c.client, ROOT)).status).toBe(403)
  expect((await lookUp(c.client, other)).status).toBe(403)
})

test('the dev root token reaches a DR secondary only as part of the replicated data', async () => {
  const [a, b] = [await start(true, ROOT), await start(true, OWN_ROOT)]
  await join(a.client, b.client, 'dr')
  expect((await lookUp(b.client, ROOT)).status).toBe(400)
  expect(await findText(b.data.engine, KEYS.devRoot)).toEqual([])
})
