import { statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { clientOf, type ClusterRecord } from '../../src/lab/model/cluster.js'
import { statusOf } from '../../src/lab/requests/replication.js'
import { LabHome } from '../support/lab-home.js'
import { until } from '../support/until.js'

const clusterOf = (home: LabHome, name: string, lab = 'default'): ClusterRecord => {
  const found = home.record(lab).clusters.find((cluster) => cluster.name === name)
  if (!found) throw new Error(`no cluster ${name}`)
  return found
}

/** Maximum width of the output of `up`, with keys of any length. Sentences of a proof may be longer. */
const WIDTH = 100

it('a lab with TLS, auto-unseal and a chosen root token switches over', { timeout: 600_000 }, async () => {
  await using home = new LabHome()
  const flags = ['--tls', '--seal', 'auto', '--shamir', '3/2', '--root-token', 'my-root']
  const up = await home.run('up', 'pr-dr', '--ports', 'random', ...flags, '--prove')
  expect(up).toMatchObject({
    status: 0,
    stdout: expect.stringMatching(/^recovery keys of A, B, C \(threshold 2 of 3\):$/m),
  })
  const [picture = ''] = up.stdout.split('\n\nB (DR) holds the same data')
  expect(Math.max(...picture.split('\n').map((line) => line.length))).toBeLessThanOrEqual(WIDTH)
  const { caFile, sealKeyFile, unsealKeys } = clusterOf(home, 'A')
  expect(unsealKeys).toHaveLength(3)
  expect(statSync(sealKeyFile ?? '').mode & 0o777).toBe(0o600)
  const { stdout } = await home.run('env', 'C', '--json')
  expect(JSON.parse(stdout)).toEqual({
    VAULT_ADDR: expect.stringMatching(/^https:/),
    VAULT_CACERT: caFile,
    VAULT_TOKEN: 'my-root',
  })
  expect((await home.run('restart', 'A', 'C')).status).toBe(0)
  expect((await home.run('wait', '--for', 'replicated')).status).toBe(0)
  expect((await home.run('seal', 'C')).status).toBe(0)
  expect((await home.run('start', 'C')).stderr).toContain('running')
  const unseal = await home.run('unseal', 'C')
  expect(unseal).toMatchObject({ status: 2, stderr: expect.stringContaining('"understudy restart C" unseals it') })
  expect(unseal.stderr, 'nothing comes of waiting').not.toContain('the auto-unseal of')
  expect((await home.run('restart', 'C')).status).toBe(0)
  expect((await home.run('switchover', 'A', 'B')).stderr).toContain('A is a DR secondary of B and replicated')
  // C finds the new primary by itself after some time.
  await until(async () => (await home.run('status')).status === 0)
})

it('the filters of a topology withhold their paths', { timeout: 600_000 }, async () => {
  await using home = new LabHome()
  expect((await home.run('up', 'filtered', '--ports', 'random')).status).toBe(0)
  const read = async (cluster: string, secret: string) => {
    const client = clientOf(clusterOf(home, cluster))
    try {
      return (await client.send('GET', secret)).status
    } finally {
      client.close()
    }
  }
  const found = await Promise.all(
    ['A', 'C', 'E'].map(async (cluster) => [
      await read(cluster, 'EU_data/data/customers'),
      await read(cluster, 'US_data/data/customers'),
    ]),
  )
  expect(found).toEqual([
    [200, 200],
    [404, 200],
    [200, 404],
  ])
})

it('a secondary reaches a primary through its load balancer, or only through its cluster port', {
  timeout: 600_000,
}, async () => {
  await using home = new LabHome()
  expect((await home.run('up', 'lb', '--ports', 'random', '--prove')).status).toBe(0)
  const { balancer, clusterAddress } = clusterOf(home, 'A')
  expect(clusterAddress).toBe(`https://127.0.0.1:${balancer?.cluster}`)
  const client = clientOf({ ...clusterOf(home, 'C'), rootToken: '' })
  expect(await statusOf(client, 'performance')).toMatchObject({ primary_cluster_addr: clusterAddress })
  client.close()
  const outside = clientOf({ apiAddress: `http://127.0.0.1:${balancer?.api}`, rootToken: '' })
  expect(await outside.read('sys/health')).toMatchObject({ initialized: true })
  outside.close()
  expect((await home.run('fault', 'partition', 'A', 'C')).status).toBe(0)
  await until(async () => (await home.run('status')).status === 2)
  expect((await home.run('down')).status).toBe(0)

  expect((await home.run('up', 'pubkey', '--ports', 'random', '--prove')).status).toBe(0)
  const tokenOnly = path.join(home.directory, 'token-only.yaml')
  const { stdout } = await home.run('topology', 'show', 'pubkey', '--yaml')
  writeFileSync(tokenOnly, stdout.replace(', activation: public-key', '').replace('name: pubkey', 'name: token-only'))
  // Without the public key, the secondary would have to unwrap its token at an unreachable API.
  const refused = await home.run('up', '-f', tokenOnly, '--name', 'two', '--ports', 'random', '--timeout', '3s')
  expect(refused).toMatchObject({ status: 4, stderr: expect.stringContaining('ECONNREFUSED') })
})

it('up creates the lab that a topology file describes', { timeout: 600_000 }, async () => {
  await using home = new LabHome()
  const file = path.join(home.directory, 'mine.yaml')
  writeFileSync(
    file,
    `apiVersion: understudy/v1
kind: Topology
name: mine
clusters:
  A:
    seal: shamir 3/2
    version: "1.19.3+ent"
    seed:
      mounts: { kv: { version: 1 }, deep/kv: }
      policies: { app: 'path "kv/*" { capabilities = ["read"] }' }
      approle: { app: { token_policies: app, role_id: app-role } }
      secrets: { kv/app: { password: s3cret }, deep/kv/app: { password: deeper } }
  C:
    version: "1.19.3+ent"
    seed: { mounts: { own: { local: true, version: 1 } }, secrets: { own/app: { password: here }, kv/late: { word: through } } }
links:
  - { kind: performance, primary: A, secondary: C, latency: 20ms }
`,
  )
  expect(await home.run('up', '-f', file, '--ports', 'random')).toMatchObject({ status: 0 })
  const [a, c] = [clientOf(clusterOf(home, 'A')), clientOf(clusterOf(home, 'C'))]
  expect(clusterOf(home, 'A').unsealKeys).toHaveLength(3)
  expect(await a.read('sys/health')).toMatchObject({ version: '1.19.3+ent' })
  expect(await c.read('deep/kv/data/app')).toMatchObject({ data: { data: { password: 'deeper' } } })
  expect(await c.read('own/app')).toMatchObject({ data: { password: 'here' } })
  expect(await a.read('kv/late')).toMatchObject({ data: { word: 'through' } })
  expect(await a.read('auth/approle/role/app/role-id')).toMatchObject({ data: { role_id: 'app-role' } })
  const routes = home.record('default').keeper.routes
  expect(routes.every(({ latencyMs }) => latencyMs === 20)).toBe(true)
  for (const client of [a, c]) client.close()
  expect((await home.run('up', 'pr-drr')).stderr).toContain('did you mean "pr-dr"?')
  expect((await home.run('up', 'pr', '-f', file)).status).toBe(1)
  expect((await home.run('up', 'pr', '--root-token', 'hvs.no')).stderr).toContain('is not a valid token')
})

it('up in the foreground leaves nothing behind, however it ends', { timeout: 600_000 }, async () => {
  await using home = new LabHome()
  const first = home.begin('up', 'single', '--ports', 'random', '--foreground')
  await first.untilPrinted('Ctrl-C stops it')
  expect(home.processes()).toHaveLength(2)
  first.signal('SIGINT')
  expect(await first.end()).toBe(130)
  expect([home.processes(), home.left()]).toEqual([[], []])

  const second = home.begin('up', 'single', '--ports', 'random', '--foreground')
  await second.untilPrinted('Ctrl-C stops it')
  second.signal('SIGKILL')
  await second.end()
  await until(() => home.processes().length === 0)
  expect((await home.run('down')).status).toBe(0)
})
