import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { silentLog } from '../../../src/base/log.js'
import { ApiClient } from '../../../src/client/api-client.js'
import {
  enablePrimary,
  enableSecondary,
  secondaryToken,
  statusOf,
  unseal,
} from '../../../src/lab/requests/replication.js'
import { Server } from '../../../src/server/server.js'
import { loadServerConfig } from '../../../src/server/config/server-config.js'
import { freePorts, localConfig } from '../../support/local-config.js'
import { until } from '../../support/until.js'

/** Development servers that store their data and are restarted. */
const root = mkdtempSync(path.join(tmpdir(), 'understudy-dev-'))

/** Returns a function that starts a server, each time with the same directory and ports. */
const makeServer = async (name: string) => {
  const ports = await freePorts()
  const { api_addr, cluster_addr } = localConfig(ports)
  const flags = ['-dev', `-dev-listen-address=127.0.0.1:${ports.api}`, `-data-dir=${path.join(root, name)}`]
  const local = JSON.stringify({ api_addr, cluster_addr })
  const { config, problems } = loadServerConfig(flags, { VAULT_LOCAL_CONFIG: local })
  if (!config) throw new Error(JSON.stringify(problems))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  return async () => {
    const server = await Server.start({ config, log: silentLog })
    const client = new ApiClient({ address: api_addr, token: server.devSecrets?.rootToken })
    const close = async () => {
      client.close()
      await server.close(0)
    }
    onTestFinished(close)
    return { server, client, close }
  }
}

test('a restarted -dev server unseals itself and keeps its root token', async () => {
  const start = await makeServer('A')
  const first = await start()
  await first.client.write('secret/data/kept', { data: { word: 'kept' } })
  await first.close()
  const again = await start()
  expect(again.server.devSecrets).toEqual(first.server.devSecrets)
  expect((await again.client.read('secret/data/kept')).data).toMatchObject({ data: { word: 'kept' } })
})

test('a restarted -dev server that has joined another cluster is sealed, and unseals with the key of that cluster', async () => {
  const a = await (await makeServer('A'))()
  const start = await makeServer('C')
  const c = await start()
  await enablePrimary(a.client, 'performance')
  await until(async () => (await a.client.send('GET', 'sys/internal/ui/mounts')).status === 200)
  await enableSecondary(c.client, 'performance', await secondaryToken(a.client, 'performance', 'c'))
  await until(async () => (await statusOf(c.client, 'performance')).state === 'stream-wals')
  await c.close()

  const again = await start()
  expect(again.server.devSecrets).toBeUndefined()
  expect((await again.client.send('GET', 'sys/seal-status')).json).toMatchObject({ sealed: true, initialized: true })
  await unseal(again.client, [Buffer.from(a.server.devSecrets?.unsealKey ?? '', 'hex').toString('base64')])
  await until(async () => (await statusOf(again.client, 'performance')).state === 'stream-wals')
})
