import { expect, it } from 'vitest'
import type { ActiveFault } from '../../src/lab/daemon/active-fault.js'
import { LabHome } from '../support/lab-home.js'
import { until } from '../support/until.js'

const NAMED = ['--name', 'one'] as const

/** Returns the connection states of B (DR) and C (performance), which both follow A. */
const states = async (home: LabHome): Promise<{ b: string; c: string }> => {
  const survey = JSON.parse((await home.run('status', '--json', ...NAMED)).stdout) as {
    clusters: { dr: { connectionState: string }; performance: { connectionState: string } }[]
  }
  return {
    b: survey.clusters[1]?.dr.connectionState ?? '',
    c: survey.clusters[2]?.performance.connectionState ?? '',
  }
}

/** Returns the response of one cluster at a lab endpoint or any other path. */
const ask = async (home: LabHome, cluster: number, path: string): Promise<Record<string, unknown>> => {
  const { apiAddress } = home.record('one').clusters[cluster] ?? { apiAddress: '' }
  return (await (await fetch(`${apiAddress}${path}`)).json()) as Record<string, unknown>
}

const faults = async (home: LabHome) =>
  JSON.parse((await home.run('fault', 'ls', '--json', ...NAMED)).stdout) as ActiveFault[]

it('a partition cuts one link of a lab of processes and no other', async () => {
  await using home = new LabHome()
  expect((await home.run('up', 'pr-dr', '--ports', 'random', ...NAMED)).status).toBe(0)

  expect(await home.run('fault', 'partition', 'A', 'C', ...NAMED)).toMatchObject({
    status: 0,
    stderr: expect.stringContaining('fault 1: A <-> C, partition'),
  })
  const other = await home.run('heal', 'A', 'B', ...NAMED)
  expect([other.status, other.stderr]).toEqual([0, expect.stringContaining('there is no fault between A and B')])
  await until(async () => (await states(home)).c !== 'ready')
  expect((await states(home)).b).toBe('ready')
  const cut = await home.run('status', ...NAMED)
  expect([cut.status, cut.stderr]).toEqual([2, expect.stringContaining('the link A <-> C has a fault (partition)')])

  expect((await home.run('heal', 'A', 'C', ...NAMED)).status).toBe(0)
  await until(async () => (await states(home)).c === 'ready')

  // The fault ends by itself, and one direction is sufficient for a partition.
  expect((await home.run('fault', 'partition', 'A', 'B', '--one-way', '--for', '10s', ...NAMED)).status).toBe(0)
  await until(async () => {
    const { data } = await ask(home, 1, '/v1/sys/replication/dr/status')
    return (data as { connection_state?: string } | undefined)?.connection_state !== 'ready'
  })
  await until(async () => (await faults(home)).length === 0)
  await until(async () => (await states(home)).b === 'ready')

  for (const args of [
    ['latency', 'A', 'C', '20ms', '--jitter', '5ms'],
    ['bandwidth', 'A', 'C', '256kB/s'],
    ['down', 'A', 'B'],
    ['slicer', 'A', 'C', '64kB', '--delay', '1ms'],
    ['slow_close', 'A', 'C', '10ms'],
  ])
    expect((await home.run('fault', ...args, ...NAMED)).status, args.join(' ')).toBe(0)
  expect((await faults(home)).map(({ id, fault }) => [id, fault])).toEqual([
    [3, { name: 'latency', ms: 20, jitterMs: 5 }],
    [4, { name: 'bandwidth', bytesPerSecond: 256_000 }],
    [5, { name: 'down' }],
    [6, { name: 'slicer', averageBytes: 64_000, delayMs: 1 }],
    [7, { name: 'slow_close', ms: 10 }],
  ])
  expect(JSON.parse((await home.run('heal', '5', '--json', ...NAMED)).stdout)).toMatchObject([{ id: 5 }])
  const hold = await home.run('fault', 'hold', 'A', 'C', '-o', 'json', ...NAMED)
  expect(JSON.parse(hold.stdout)).toMatchObject({ id: 8, between: ['A', 'C'], fault: { name: 'hold' } })
  const released = await home.run('fault', 'release', 'C', 'A', '--json', ...NAMED)
  expect(JSON.parse(released.stdout)).toMatchObject([{ id: 8 }])
  expect((await home.run('heal', '--all', ...NAMED)).status).toBe(0)
  expect(await faults(home)).toEqual([])
  expect((await home.run('wait', '--for', 'replicated', ...NAMED)).status).toBe(0)

  const refusals: readonly [readonly string[], string][] = [
    [['fault', 'partition', 'A', 'Q'], 'there is no cluster "Q"; the lab has A, B, C'],
    [['fault', 'latency', 'A', 'C', 'long'], '"long" is not a duration'],
    [['fault', 'bandwidth', 'A', 'C', '0'], '"0" is not a size'],
    [['fault', 'bandwidth', 'A', 'C', '256'], '"256" has no unit: use 256B/s or 256kB/s'],
    [['fault', 'latency', 'A', 'C', '80'], '"80" has no unit: use 80ms or 80s'],
    [['fault', 'partition', 'A', 'C', '--for', '30'], '"30" has no unit'],
    [['heal'], 'specify a fault ID'],
    [['heal', '77'], 'there is no fault 77'],
    [['release', 'Q'], 'has no cluster "Q"; it has A, B, C'],
    [['release', 'A', 'C', '--state', 'reindex'], '--state requires a single cluster'],
    [['heal', 'Q'], 'has no cluster "Q"; it has A, B, C'],
  ]
  for (const [args, text] of refusals) {
    const { status, stderr } = await home.run(...args, ...NAMED)
    expect([status, stderr], args.join(' ')).toEqual([1, expect.stringContaining(text)])
  }
})

it('lab status reports a dead lab daemon, and "start" restores the links on the same ports', async () => {
  await using home = new LabHome()
  expect((await home.run('up', 'dr', '--ports', 'random', ...NAMED)).status).toBe(0)
  const toxiproxy = (await home.run('toxiproxy', '--port', '0', ...NAMED)).stdout.trim()
  const latency = { type: 'latency', attributes: { latency: 1 } }
  const toxics = `${toxiproxy}/proxies/A-B-cluster/toxics`
  expect((await fetch(toxics, { method: 'POST', body: JSON.stringify(latency) })).status).toBe(200)
  expect((await home.run('fault', 'ls', ...NAMED)).stdout).toContain('A-B-cluster (downstream)')
  process.kill(home.record('one').keeper.process?.pid ?? 0, 'SIGKILL')
  await until(async () => (await home.run('status', ...NAMED)).stderr.includes('the lab daemon does not respond'))
  expect(await home.run('fault', 'ls', ...NAMED)).toMatchObject({
    status: 5,
    stderr: expect.stringMatching(/the lab daemon of the lab "one" does not respond.*"understudy start --name one"/),
  })
  for (const command of [['fault', 'ls'], ['heal', '--all'], ['release', 'A'], ['losses']])
    expect((await home.run(...command)).stderr, command.join(' ')).toContain(
      'there is no lab "default"; to select another lab, use --name: one',
    )
  expect((await home.run('start', ...NAMED)).status).toBe(0)
  expect((await home.run('wait', '--for', 'replicated', ...NAMED)).status).toBe(0)
  expect((await home.run('status', ...NAMED)).status).toBe(0)
  // The port is the same as before, and the faults of the link are cleared.
  expect(await (await fetch(toxics)).json()).toEqual([])
  expect((await home.run('toxiproxy', '--off', ...NAMED)).status).toBe(0)
  await expect(fetch(toxics)).rejects.toThrow()
  expect((await home.run('down', 'one')).status).toBe(0)
  expect([home.processes(), home.left()]).toEqual([[], []])
})

it('faults of servers stay after a restart until heal clears them', async () => {
  await using home = new LabHome()
  expect((await home.run('up', 'pr-dr', '--ports', 'random', ...NAMED)).status).toBe(0)
  const ok = async (...args: string[]) => {
    const { status, stderr } = await home.run(...args, ...NAMED)
    expect([status, status === 0 ? '' : stderr], args.join(' ')).toEqual([0, ''])
    return stderr
  }
  const faultsOf = (cluster: number) => ask(home, cluster, '/_understudy/v1/faults')
  const held = async () => ((await ask(home, 2, '/_understudy/v1/states')).states as { state: string }[]).length

  await ok('fault', 'skew', 'B', '-5m')
  await ok('fault', 'skew', 'C', '+5m', '--for', '1s')
  await ok('fault', 'disk', 'A', 'slow', '--delay', '5ms')
  await ok('fault', 'hold', 'C', '--state', 'merkle-sync', '--kind', 'performance')
  expect(await faultsOf(1)).toMatchObject({ skew_ms: -300_000 })
  await until(async () => (await faultsOf(2)).skew_ms === 0)
  expect(await faultsOf(0)).toMatchObject({ disk: { state: 'slow', delay_ms: 5 } })
  expect(await held()).toBe(1)
  expect((await home.run('fault', 'ls', ...NAMED)).stdout).toMatch(/^1 +B +clock -300 s +-\n3 +A +disk slow/m)

  // Of two skews, the newer one applies. After a temporary one, the older one applies again.
  await ok('fault', 'skew', 'B', '-5m')
  expect((await home.run('fault', 'ls', ...NAMED)).stdout.match(/clock/g)).toHaveLength(1)
  await ok('fault', 'skew', 'B', '+1h', '--for', '1h')
  expect(await faultsOf(1)).toMatchObject({ skew_ms: 3_600_000 })
  await ok('heal', '6')
  expect(await faultsOf(1)).toMatchObject({ skew_ms: -300_000 })

  await ok('crash', 'B')
  await ok('start', 'B')
  await until(async () => (await faultsOf(1)).skew_ms === -300_000)
  // Events of this server have the time of its own clock and the time of the lab.
  const events = async (...flags: string[]) => (await home.run('events', ...flags, ...NAMED)).stdout
  const told = (await events('--json')).split('\n').filter((line) => line.includes('"command":"understudy crash B'))
  const { time, virtualTime = '' } = JSON.parse(told[0] ?? '{}') as { time: string; virtualTime?: string }
  expect(Date.parse(virtualTime) - Date.parse(time)).toBe(-300_000)
  expect(await events()).toContain(`(clock of the cluster: ${virtualTime})`)

  await ok('release', 'C')
  expect(await held()).toBe(0)
  await ok('heal', 'A')
  expect(await faultsOf(0)).toMatchObject({ disk: { state: 'ok' } })
  expect(await ok('heal', '--all')).toContain('B, clock -300 s')
  expect(await faultsOf(1)).toMatchObject({ skew_ms: 0 })
  expect(await faults(home)).toEqual([])

  expect(await ok('fault', 'corrupt', 'C', '--page', '7')).toContain('page 7 of the replicated tree corrupted')
  expect(await faults(home)).toEqual([])
  const { apiAddress, rootToken } = home.record('one').clusters[0] ?? { apiAddress: '', rootToken: '' }
  const issued = await fetch(`${apiAddress}/v1/sys/replication/dr/primary/secondary-token`, {
    method: 'PUT',
    headers: { 'X-Vault-Token': rootToken },
    body: '{"id": "late"}',
  })
  expect(issued.status).toBe(200)
  expect(await ok('fault', 'expire-token', 'late')).toContain('activation token of late expired')

  const refusals: readonly [readonly string[], string][] = [
    [['fault', 'skew', 'Q', '5m'], 'there is no cluster "Q"; the lab has A, B, C'],
    [['fault', 'skew', 'B', 'soon'], '"soon" is not a time to add to a clock'],
    [['fault', 'skew', 'B', '5'], '"5" is not a time'],
    [['fault', 'disk', 'A', 'tired'], 'Allowed choices are full, fail, slow'],
    [['fault', 'disk', 'A', 'full', '--delay', '1s'], '--delay requires slow'],
    [['fault', 'hold', 'C'], 'specify the two clusters of a link'],
    [['fault', 'hold', 'C', '--state', 'asleep'], 'Allowed choices are'],
    [['fault', 'corrupt', 'C', '--page', '256'], 'is not a page'],
    [['fault', 'expire-token', 'nobody'], 'no unused activation token was issued for the id "nobody"'],
  ]
  for (const [args, text] of refusals) {
    const { status, stderr } = await home.run(...args, ...NAMED)
    expect([status, stderr], args.join(' ')).toEqual([1, expect.stringContaining(text)])
  }
})
