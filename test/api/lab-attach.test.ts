import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { ApiClient } from '../../src/client/api-client.js'
import type { WiredClusters } from '../../src/lab/model/cluster.js'
import { enablePrimary, enableSecondary, secondaryToken, statusOf, unseal } from '../../src/lab/requests/replication.js'
import { LabHome } from '../support/lab-home.js'
import { startServerProcess } from '../support/server-process.js'
import { until } from '../support/until.js'

it('attach wires running servers and operates them as a lab, and down only unregisters them', async () => {
  await using home = new LabHome()
  await using a = await startServerProcess()
  await using b = await startServerProcess()
  const keys = path.join(home.directory, 'keys.json')
  const addresses = [`A=${a.address}`, `B=${b.address}`]
  const wired = await home.run('wire', '--topology', 'dr', '--keep', keys, '--name', 'boxes', ...addresses)
  expect([wired.status, wired.stderr]).toEqual([
    0,
    expect.stringContaining('registered the servers as the lab "boxes"'),
  ])
  expect(statSync(keys).mode & 0o777).toBe(0o600)
  const on = (...args: string[]) => home.run(...args, '--name', 'boxes')

  expect((await home.run('ls')).stdout).toMatch(/boxes +dr +attached +\S+ +- +2 /)
  await until(async () => (await on('status')).status === 0)
  expect(JSON.parse((await on('status', '--json')).stdout).clusters[0]).toMatchObject({
    process: 'elsewhere',
    pid: null,
  })
  expect((await on('env', 'A')).stdout).toContain(`export VAULT_ADDR=${a.address}\nexport VAULT_TOKEN=`)
  expect((await on('env', 'B')).stdout).toContain('B is a DR secondary')
  for (const state of ['replicated', 'converged', 'healthy'])
    expect((await on('wait', '--for', state)).status, state).toBe(0)
  expect(await on('wait', '--for', 'active', '--cluster', 'B', '--timeout', '100ms')).toMatchObject({
    status: 4,
    stderr: expect.stringContaining('it is a DR secondary, which serves no clients until it is promoted'),
  })
  expect((await on('probe', '--for', '300ms')).stdout).toMatch(/^B +WAL index +\d+ /m)
  expect(await on('switchover', 'A', 'B')).toMatchObject({ status: 0 })
  expect((await on('env', '--role', 'dr-primary')).stdout).toContain(b.address)
  expect((await on('seal', 'B')).status).toBe(0)
  expect((await on('status')).stderr).toContain('B is sealed')
  expect((await on('wait', '--for', 'converged', '--timeout', '100ms')).status).toBe(4)
  // Long enough to query all servers, even on a busy machine.
  expect(await on('wait', '--for', 'healthy', '--timeout', '5s')).toMatchObject({
    status: 4,
    stderr: expect.stringContaining('B is sealed'),
  })
  expect((await on('unseal', 'B')).status).toBe(0)
  await until(async () => (await on('status')).status === 0)

  for (const [args, why] of [
    [['crash', 'A'], 'is attached and cannot crash cluster A: crash the server at'],
    [['fault', 'partition', 'A', 'B'], 'it has no lab daemon, which faults and events require'],
    [['fault', 'ls'], 'it has no lab daemon'],
    [['events'], 'it has no lab daemon'],
    [['toxiproxy'], 'it has no lab daemon'],
  ] as const) {
    const answer = await on(...args)
    expect([answer.status, answer.stderr], args.join(' ')).toEqual([1, expect.stringContaining(why)])
    expect(answer.stderr).toContain('is attached')
  }
  const linked = path.join(home.directory, 'linked.yaml')
  const steps =
    'steps: [{ write: { cluster: A, path: kv/a, fields: {} } }, { fault: { name: partition, between: [A, B] } }]'
  writeFileSync(linked, `apiVersion: understudy/v1\nkind: Drill\ntopology: dr\n${steps}\n`)
  const refused = await home.run('drill', 'run', linked, '--name', 'boxes')
  expect([refused.status, refused.stderr]).toEqual([1, expect.stringContaining('it has no lab daemon')])
  expect(refused.stderr).toContain('injects a link fault (partition A <-> B): run it on a lab of its own with --on')
  expect(refused.stderr).not.toContain('[1/2]')
  expect(await on('up', 'dr')).toMatchObject({ status: 5, stderr: expect.stringContaining('"understudy down boxes"') })
  expect(await home.run('attach', 'boxes', ...addresses)).toMatchObject({ status: 5 })

  const again = await home.run('wire', '--topology', 'dr', '--keep', keys, ...addresses)
  expect([again.status, again.stderr]).toEqual([0, expect.stringContaining('B is no longer a dr secondary of A')])

  expect(await home.run('down', 'boxes')).toMatchObject({
    status: 0,
    stderr: expect.stringContaining('is unregistered'),
  })
  expect(home.left()).toEqual([])
  expect((await b.client.send('GET', 'sys/health')).status).toBe(200)
})

it('attach accepts the output of operator init as keys, and warns about a readable file', async () => {
  await using home = new LabHome()
  await using a = await startServerProcess()
  const init = await home.run(
    'vault',
    'operator',
    'init',
    `-address=${a.address}`,
    '-n',
    '3',
    '-t',
    '2',
    '-format=json',
  )
  const keys = path.join(home.directory, 'keys.json')
  writeFileSync(keys, `{"A": ${init.stdout}}`)
  chmodSync(keys, 0o644)
  const attached = await home.run('attach', 'one', `A=${a.address}`, '--keys', keys)
  expect([attached.status, attached.stderr]).toEqual([0, expect.stringContaining(`chmod 600 ${keys}`)])
  expect((await home.run('unseal', '--name', 'one')).status).toBe(0)
  expect(
    (await home.run('exec', 'A', '--name', 'one', '--', process.execPath, 'dist/main.js', 'vault', 'token', 'lookup'))
      .status,
  ).toBe(0)
  expect(home.processes()).toEqual([])

  const attach = (...args: string[]) => home.run('attach', 'two', ...args)
  const away = await attach('A=http://127.0.0.1:1')
  expect([away.status, away.stderr]).toEqual([0, expect.stringContaining('cluster A does not respond')])
  await home.run('down', 'two')
  for (const [args, why] of [
    [[], 'specify the address of each cluster'],
    [['A=elsewhere'], 'is not of the form A=http://host:8200'],
    [['A=http://a:8200', 'A=http://b:8200'], 'specified twice'],
    [[`B=${a.address}`, '--keys', keys], 'the keys file contains keys of A'],
    [['--keys', path.join(home.directory, 'none.json')], 'cannot be read'],
    [['--project', 'x', `A=${a.address}`], '--project requires --compose'],
    [[`A=${a.address}`, '--topology', 'drr'], 'did you mean "dr"'],
  ] as const) {
    const answer = await attach(...args)
    expect([answer.status, answer.stderr], args.join(' ')).toEqual([1, expect.stringContaining(why)])
  }
  const compose = await attach('--compose', home.directory)
  // A machine may have no container engine.
  expect([compose.status === 0, compose.stderr]).toEqual([false, expect.stringMatching(/no containers of|docker/)])
  expect(home.left()).toEqual(['one'])
})

it('unseal without names unseals the running servers of an attached lab, and skips a server that is down', async () => {
  await using home = new LabHome()
  await using a = await startServerProcess()
  await using c = await startServerProcess()
  const keys = path.join(home.directory, 'keys.json')
  const addresses = [`A=${a.address}`, `C=${c.address}`]
  await home.passes('wire', '--topology', 'pr', '--keep', keys, '--name', 'boxes', ...addresses)
  await home.passes('seal', 'C', '--name', 'boxes')
  process.kill(a.pid, 'SIGKILL')
  await until(async () =>
    a.client.send('GET', 'sys/health').then(
      () => false,
      () => true,
    ),
  )
  const unsealed = await home.run('unseal', '--name', 'boxes')
  expect([unsealed.status, unsealed.stderr]).toEqual([
    0,
    expect.stringMatching(/^cluster A does not respond \(.+\), and was skipped$[\s\S]*^cluster C is unsealed$/m),
  ])
  expect(await home.run('unseal', 'A', '--name', 'boxes'), 'a named server is not skipped').toMatchObject({ status: 2 })
})

it('attach saves the keys of servers that it could not join', async () => {
  await using home = new LabHome()
  await using a = await startServerProcess()
  await using b = await startServerProcess({ license: 'none' })
  const keys = path.join(home.directory, 'keys.json')
  const wire = () =>
    home.run('wire', '--topology', 'dr', '--keep', keys, '--timeout', '1s', `A=${a.address}`, `B=${b.address}`)
  expect((await wire()).status).toBe(4)
  const { clusters, joined } = JSON.parse(readFileSync(keys, 'utf8')) as WiredClusters
  expect(joined).toEqual([])
  for (const { apiAddress, rootToken } of clusters) {
    const client = new ApiClient({ address: apiAddress, token: rootToken })
    expect((await client.send('GET', 'auth/token/lookup-self')).status).toBe(200)
    client.close()
  }
  expect((await wire()).stderr).toContain('cluster B is unsealed')
})

it.each([
  { own: 1, primary: 2 },
  { own: 2, primary: 1 },
])(
  'a failover of attached servers works if the secondary has obsolete shares of threshold $own and its primary has $primary',
  async ({ own, primary }) => {
    await using home = new LabHome()
    await using a = await startServerProcess()
    await using b = await startServerProcess()
    const init = async (address: string, threshold: number) => {
      const args = ['-n', String(threshold), '-t', String(threshold), '-format=json']
      const { stdout } = await home.passes('vault', 'operator', 'init', `-address=${address}`, ...args)
      return JSON.parse(stdout) as { unseal_keys_hex: string[]; root_token: string }
    }
    const keysOf = { A: await init(a.address, primary), B: await init(b.address, own) }
    const open = async ({ client }: typeof a, { unseal_keys_hex, root_token }: typeof keysOf.A) => {
      await unseal(client, unseal_keys_hex)
      return client.with({ token: root_token })
    }
    const [above, below] = [await open(a, keysOf.A), await open(b, keysOf.B)]
    await enablePrimary(above, 'dr')
    await enableSecondary(below, 'dr', await secondaryToken(above, 'dr', 'b'))
    const keys = path.join(home.directory, 'keys.json')
    writeFileSync(keys, JSON.stringify(keysOf), { mode: 0o600 })
    const addresses = [`A=${a.address}`, `B=${b.address}`]
    await home.passes('attach', 'boxes', ...addresses, '--keys', keys)
    await home.passes('wait', '--name', 'boxes', '--for', 'converged')
    await home.passes('switchover', 'A', 'B', '--name', 'boxes')
    expect(await statusOf(b.client, 'dr')).toMatchObject({ mode: 'primary' })
  },
)
