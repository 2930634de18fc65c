import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import type { AddressInfo } from 'node:net'
import net from 'node:net'
import type { LabRecord } from '../../src/lab/model/cluster.js'
import { LabHome } from '../support/lab-home.js'
import { until } from '../support/until.js'

/** A lab whose servers share one process, controlled by the commands that work on every lab. */

const POLICY = { policy: 'path "kv/*" { capabilities = ["read"] }' }

const UP = ['--in-process', '--ports', 'random']

/** Sends a request with the token that is valid on the cluster now. Returns the status. */
const call = async (home: LabHome, cluster: string, method: string, path: string, body?: unknown): Promise<number> => {
  const sent = body === undefined ? 'undefined' : JSON.stringify(JSON.stringify(body))
  const script = `
    const { VAULT_ADDR, VAULT_TOKEN } = process.env
    const headers = { 'X-Vault-Token': VAULT_TOKEN }
    fetch(VAULT_ADDR + '/v1/${path}', { method: '${method}', headers, body: ${sent} }).then(({ status }) => console.log(status))`
  return Number((await home.run('exec', cluster, '--', process.execPath, '-e', script)).stdout)
}

interface Seen {
  readonly clusters: readonly { readonly name: string; readonly process: string; readonly isSealed: boolean }[]
  readonly problems: readonly string[]
}

const look = async (home: LabHome): Promise<Seen> =>
  JSON.parse((await home.run('status', '--json')).stdout || '{"clusters":[],"problems":["nothing"]}') as Seen

const isWell = async (home: LabHome): Promise<boolean> => (await look(home)).problems.length === 0

it('the seed of a lab in one process determines its keys and tokens, and other labs reject a seed', async () => {
  await using home = new LabHome()
  const keysOf = async (name: string, seed: string) => {
    const { stdout } = await home.passes('up', 'dr', ...UP, '--shamir', '3/2', '--seed', seed, '--name', name, '--json')
    const { seed: recorded, clusters } = JSON.parse(stdout) as LabRecord
    expect(recorded).toBe(seed)
    return clusters.map(({ unsealKeys, rootToken }) => ({ unsealKeys, rootToken }))
  }
  const keys = await keysOf('one', '7')
  expect(keys[0]).toEqual({
    unsealKeys: [expect.any(String), expect.any(String), expect.any(String)],
    rootToken: expect.stringMatching(/^hvs\./),
  })
  expect(await keysOf('two', '7')).toEqual(keys)
  expect(await keysOf('three', '8')).not.toEqual(keys)
  await home.passes('snapshot', 'save', 'kept', '--name', 'one')
  for (const [args, why] of [
    [['up', 'dr', '--seed', '7'], '--seed requires --in-process: it has no effect on servers in separate processes'],
    [['up', 'dr', '--in-process', '--seed', ''], '--seed must not be empty'],
    [['up', '--snapshot', 'kept', '--in-process', '--seed', '7'], '--snapshot defines the clusters'],
  ] as const)
    expect(await home.run(...args), args.join(' ')).toMatchObject({ status: 1, stderr: expect.stringContaining(why) })
})

it('the seed of a lab in one process applies only to its first start, so that no random value repeats', async () => {
  await using home = new LabHome()
  const up = await home.passes('up', 'single', ...UP, '--seed', '7')
  expect(up.stdout).toMatch(/^seed: 7$/m)
  const seedOfDaemon = () =>
    (JSON.parse(readFileSync(home.record('default').keeper.configFile, 'utf8')) as { seed?: string }).seed
  expect(seedOfDaemon()).toBe('7')
  await home.passes('down', '--keep')
  await home.passes('start')
  expect([seedOfDaemon(), home.record('default').seed]).toEqual([undefined, '7'])
})

it('a lab in one process supports the lab commands', { timeout: 300_000 }, async () => {
  await using home = new LabHome()
  const up = await home.run('up', 'pr-dr', ...UP, '--prove')
  expect(up, up.stderr).toMatchObject({ status: 0 })
  expect(home.processes()).toHaveLength(1)
  const [daemon = 0] = home.processes()
  expect((await home.run('ls')).stdout).toMatch(
    new RegExp(`default +pr-dr +running +\\w+ +pid ${daemon} +3 of 3 +healthy`),
  )
  expect((await home.run('status')).status).toBe(0)

  expect((await home.run('fault', 'partition', 'A', 'C')).status).toBe(0)
  expect(await home.run('status')).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('the link A <-> C has a fault'),
  })
  expect((await home.run('heal', '--all')).status).toBe(0)

  expect((await home.run('snapshot', 'save', 'early')).status).toBe(0)
  expect(await call(home, 'A', 'PUT', 'sys/policies/acl/late', POLICY)).toBe(204)
  expect(await call(home, 'A', 'POST', 'auth/token/create', { id: 'came-back', ttl: '1h' })).toBe(200)
  expect(await home.run('stop', 'C')).toMatchObject({ status: 0 })
  expect((await look(home)).clusters.find(({ name }) => name === 'C')?.process).toBe('stopped')
  expect((await home.run('ls')).stdout).toMatch(/partly running .*2 of 3 +\d problem/)
  expect(JSON.parse((await home.run('ls', '--json')).stdout)).toEqual([
    expect.objectContaining({ owner: daemon, problems: expect.arrayContaining(['C is stopped']) }),
  ])
  expect((await home.run('start', 'C')).status).toBe(0)
  expect((await home.run('restart', 'B', 'C')).stderr).toMatch(/cluster B is ready at .*\n.*cluster C is ready at /)
  expect((await home.run('wait', '--for', 'healthy')).status).toBe(0)

  expect((await home.run('losses')).stdout).toBe(
    'A: 0 log entries lost\nB: 0 log entries lost\nC: 0 log entries lost\n',
  )
  expect((await home.run('fault', 'partition', 'A', 'B')).status).toBe(0)
  expect(await call(home, 'A', 'PUT', 'sys/policies/acl/lost', POLICY)).toBe(204)
  expect(await call(home, 'A', 'POST', 'auth/token/revoke', { token: 'came-back' })).toBe(204)
  const logOfA = () => readFileSync(home.record('default').clusters[0]?.logFile ?? '', 'utf8')
  const logged = logOfA().length
  expect((await home.run('crash', 'A')).stderr).toContain('cluster A was killed')
  expect(await home.run('crash', 'A')).toMatchObject({ status: 5 })
  expect((await look(home)).clusters.find(({ name }) => name === 'A')?.process).toBe('crashed')
  expect((await home.run('seal', 'C')).status).toBe(0)
  expect(await home.run('unseal')).toMatchObject({
    status: 0,
    stderr: expect.stringMatching(/cluster A is not running, and was skipped\n[\s\S]*cluster C/),
  })
  expect(logOfA().slice(logged), 'a killed server logs no errors').not.toContain('"stack"')
  const failover = await home.run('failover', 'A', 'B', '--force')
  expect(failover, failover.stderr).toMatchObject({ status: 0 })
  expect(await call(home, 'B', 'GET', 'sys/policies/acl/late')).toBe(200)
  expect(await call(home, 'B', 'GET', 'sys/policies/acl/lost')).toBe(404)
  expect(await home.run('losses')).toMatchObject({
    status: 2,
    stdout: expect.stringMatching(/^A: unknown \(/),
    stderr: 'understudy: the losses of A are not known: the reasons are above\n',
  })
  for (const command of ['heal --all', 'start A']) expect((await home.run(...command.split(' '))).status).toBe(0)
  const before = await home.run('losses', '--json')
  expect(before).toMatchObject({ status: 2, stderr: expect.not.stringContaining('rejoin') })
  expect(JSON.parse(before.stdout)).toMatchObject([
    { cluster: 'A', known: false, losses: [], rejoin: 'understudy rejoin A B' },
    { cluster: 'B', known: true },
    { cluster: 'C', known: true },
  ])
  const rejoined = await home.run('rejoin', 'A', 'B')
  expect(rejoined).toMatchObject({
    status: 0,
    stderr: expect.stringMatching(
      /A discarded 2 log entries \(.*lost, .*\) that B does not have; credentials that came back: 1 token; to list them: understudy losses A\n/,
    ),
  })
  expect((await home.run('status')).stdout).toMatch(
    /^A discarded 2 log entries \(.*lost, .*\) that its new primary lacked: understudy losses A\nA discarded the revocation of 1 token, which came back: understudy losses A$/m,
  )
  expect((await home.run('events')).stdout).toMatch(
    / A +note +A discarded 2 log entries .* credentials that came back: 1 token/,
  )
  expect((await home.run('losses', 'A')).stdout).toMatch(/^A: 2 log entries lost \(/)
  expect((await home.run('losses', 'A')).stdout).toMatch(/^A +\d+ +delete \(token came back\) +sys\/token\/id\/h/m)
  expect((await home.run('losses', 'A')).stdout).toMatch(/^Credentials that came back: 1 token\. They are valid on/m)
  expect((await home.run('losses', 'A')).stdout).toMatch(/^A +\d+ +put +.*lost$/m)
  expect((await home.run('losses', 'A')).stdout).toMatch(
    /^A keeps the encrypted log frames .*core\/losses\/\. No command reads them\./m,
  )
  expect(JSON.parse((await home.run('losses', 'A', '--json')).stdout)).toEqual([
    {
      known: true,
      cluster: 'A',
      losses: [expect.objectContaining({ entriesBeyond: 0, reason: expect.any(String) })],
      held: [],
    },
  ])
  const reset = await home.run('reset')
  expect(reset, reset.stderr).toMatchObject({ status: 0 })
  await until(() => isWell(home))
  expect(await call(home, 'A', 'GET', 'sys/policies/acl/late')).toBe(404)
  expect((await home.run('events')).stdout).toMatch(/crash/)
  expect(home.processes()).toHaveLength(1)

  expect((await home.run('down')).status).toBe(0)
  expect([home.processes(), home.left()]).toEqual([[], []])
  const again = await home.run('up', '--snapshot', 'early', ...UP)
  expect(again, again.stderr).toMatchObject({ status: 0 })
  expect(home.processes()).toHaveLength(1)
  expect((await home.run('status')).status).toBe(0)
})

it('a lab in one process plays a drill', { timeout: 300_000 }, async () => {
  await using home = new LabHome()
  expect((await home.run('up', 'pr-dr', ...UP)).status).toBe(0)
  const drill = await home.run('drill', 'run', 'dr-failover', '--name', 'default')
  expect(drill, drill.stdout + drill.stderr).toMatchObject({ status: 0 })
  expect(home.processes()).toHaveLength(1)
})

it('a lab in one process keeps its data after SIGKILL, until "down"', { timeout: 300_000 }, async () => {
  await using home = new LabHome()
  const up = await home.run('up', 'dr', ...UP, '--tls', '--shamir', '3/2')
  expect(up, up.stderr).toMatchObject({ status: 0 })
  expect((await home.run('status')).status).toBe(0)
  const [pid = 0] = home.processes()
  process.kill(pid, 'SIGKILL')
  await until(() => home.processes().length === 0)
  expect((await home.run('ls')).stdout).toMatch(/stopped .*0 of 2/)
  expect((await home.run('status')).status).toBe(2)
  expect((await home.run('fault', 'partition', 'A', 'B')).status).toBe(5)

  const start = await home.run('start')
  expect(start, start.stderr).toMatchObject({ status: 0 })
  expect(home.processes()).toHaveLength(1)
  await until(() => isWell(home))
  process.kill(home.processes()[0] ?? 0, 'SIGKILL')
  await until(() => home.processes().length === 0)
  expect((await home.run('down')).status).toBe(0)
  expect([home.processes(), home.left()]).toEqual([[], []])
})

it('a lab in one process shuts down if one of its servers cannot start', { timeout: 120_000 }, async () => {
  await using home = new LabHome()
  const other = net.createServer().listen(0, '127.0.0.1')
  await until(() => other.listening)
  try {
    const { port } = other.address() as AddressInfo
    const up = await home.run('up', 'single', '--in-process', '--port-base', String(port))
    expect(up).toMatchObject({ status: 5, stderr: expect.stringContaining(String(port)) })
    expect(home.processes()).toEqual([])
  } finally {
    other.close()
  }
})

it('a lab in one process ends with the foreground command', { timeout: 120_000 }, async () => {
  await using home = new LabHome()
  await using up = home.begin('up', 'single', ...UP, '--foreground')
  await up.untilPrinted('Ctrl-C stops it')
  expect(home.processes()).toHaveLength(1)
  up.signal('SIGTERM')
  await up.end()
  await until(() => home.processes().length === 0)
  expect(home.left()).toEqual([])
})
