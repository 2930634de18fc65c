import { beforeAll, expect, it } from 'vitest'
import { type Cluster, openClusters } from '../support/clusters.js'
import { retried, type Send, wire } from '../support/wire.js'

/** The requests with which Vault's own test harness builds and checks a performance pair and a DR pair. */
const clusters = openClusters()
let primary: Cluster
let performance: Cluster
let dr: Cluster

beforeAll(async () => {
  ;[primary, performance, dr] = await Promise.all([clusters.add('A'), clusters.add('B'), clusters.add('C')])
})
const sendTo =
  (cluster: Cluster): Send =>
  (...request) =>
    retried(() =>
      wire(cluster.apiAddress, { 'X-Vault-Request': 'true', 'X-Vault-Token': cluster.rootToken })(...request),
    )

const anonymous = (cluster: Cluster): Send => wire(cluster.apiAddress, { 'X-Vault-Request': 'true' })

/** Polls until the body of an unauthenticated GET has these fields. */
const poll = async (cluster: Cluster, path: string, wanted: Record<string, unknown>) => {
  await cluster.until(`${path} ${JSON.stringify(wanted)}`, async () => {
    const { json } = await anonymous(cluster)('GET', path)
    const body = json?.data ?? json ?? {}
    const wrong = Object.entries(wanted).filter(([field, value]) => body[field as never] !== value)
    return wrong.length === 0 ? undefined : JSON.stringify(wrong.map(([field]) => [field, body[field as never]]))
  })
}

const statusOf = async (cluster: Cluster, kind: string) =>
  (await anonymous(cluster)('GET', `sys/replication/${kind}/status`)).json?.data

const enable = async (kind: 'performance' | 'dr', secondary: Cluster) => {
  const enabled = await sendTo(primary)('PUT', `sys/replication/${kind}/primary/enable`, 'null')
  expect([enabled.status, enabled.json?.data ?? null]).toEqual([200, null])
  await poll(primary, 'sys/health', { [`replication_${kind}_mode`]: 'primary' })
  const made = await sendTo(primary)('PUT', `sys/replication/${kind}/primary/secondary-token`, `{"id":"${kind}-1"}`)
  expect(made.status, made.text).toBe(200)
  const body = JSON.stringify({ token: made.json?.wrap_info.token, ca_file: '' })
  expect((await sendTo(secondary)('PUT', `sys/replication/${kind}/secondary/enable`, body)).status).toBe(200)
  secondary.seal = { ...primary.seal, rootToken: '' }
  await poll(secondary, 'sys/health', { [`replication_${kind}_mode`]: 'secondary' })
  await clusters.untilReplicated(primary, secondary, kind)
  expect((await statusOf(primary, kind))?.merkle_root).toBe((await statusOf(secondary, kind))?.merkle_root)
}

it('a performance pair: the secondary reports the leader, and gains and loses a mount of the primary', async () => {
  await enable('performance', performance)
  const leader = (await anonymous(primary)('GET', 'sys/leader')).json
  expect((await statusOf(performance, 'performance'))?.known_primary_cluster_addrs).toContain(
    leader?.leader_cluster_address,
  )
  await clusters.takeRoot(performance)
  const mount = '2f0b9f7e-1ea3-4c22-bb25-2b2d0a2f6a52'
  expect((await sendTo(primary)('POST', `sys/mounts/${mount}`, '{"type":"kv","local":false}')).status).toBe(204)
  expect((await sendTo(primary)('PUT', `${mount}/foo`, '{"bar":1}')).status).toBe(204)
  await performance.until('show the secret', async () => {
    const read = await sendTo(performance)('GET', `${mount}/foo`)
    return read.json?.data?.bar === 1 ? undefined : read.text
  })
  expect((await sendTo(primary)('DELETE', `sys/mounts/${mount}`)).status).toBe(204)
  await performance.until('lose the mount', async () => {
    const { status } = await sendTo(performance)('GET', `${mount}/foo`)
    return status === 404 ? undefined : `status ${status}`
  })
})

it('a DR pair: the secondary streams, and replicates the creation and revocation of a token', async () => {
  await enable('dr', dr)
  expect((await anonymous(dr)('GET', 'sys/health')).status).toBe(472)
  await poll(dr, 'sys/replication/dr/status', { state: 'stream-wals' })
  const made = await sendTo(primary)('POST', 'auth/token/create', '{"policies":["default"]}')
  expect(made.status, made.text).toBe(200)
  const body = JSON.stringify({ token: made.json?.auth.client_token })
  expect((await sendTo(primary)('PUT', 'auth/token/revoke', body)).status).toBe(204)
  await clusters.untilReplicated(primary, dr, 'dr')
  expect(Number((await statusOf(dr, 'dr'))?.last_remote_wal)).toBeGreaterThan(0)
  const gated = await sendTo(dr)('GET', 'sys/mounts')
  expect([gated.status, gated.json?.errors]).toEqual([400, ['path disabled in replication DR secondary mode']])
})
