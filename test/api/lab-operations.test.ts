import { existsSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { LabHome } from '../support/lab-home.js'
import { until } from '../support/until.js'

const NAMED = ['--name', 'one'] as const

it('lab commands fail over, rejoin and switch over, and show the calls', { timeout: 600_000 }, async () => {
  await using home = new LabHome()
  const on = (...args: string[]) => home.run(...args, ...NAMED)
  const vault = (cluster: string, ...args: string[]) =>
    home.run('exec', cluster, ...NAMED, '--', process.execPath, 'dist/main.js', 'vault', ...args)
  expect((await on('up', 'dr', '--ports', 'random', '--shamir', '3/2')).status).toBe(0)
  expect((await vault('A', 'secrets', 'enable', '-path=kv', 'kv')).status).toBe(0)
  expect((await vault('A', 'write', 'kv/a', 'word=kept')).status).toBe(0)
  expect((await on('wait', '--for', 'replicated', '--cluster', 'B')).stderr).toContain('cluster B is replicated')

  // The commands that generate a DR operation token with two shares.
  const generation = [
    'OTP="$(vault operator generate-root -dr-token -generate-otp)"',
    `progress="$(vault operator generate-root -dr-token -init -otp="$OTP")" && NONCE="$(printf '%s\\n' "$progress" | awk '$1 == "Nonce" { print $NF }')"`,
    ...[1, 2].map(
      () =>
        `progress="$(printf %s "$KEY_SHARE" | vault operator generate-root -dr-token -nonce="$NONCE" -)" && ENCODED_TOKEN="$(printf '%s\\n' "$progress" | awk '$1 == "Encoded" { print $NF }')"`,
    ),
    'DR_OPERATION_TOKEN="$(vault operator generate-root -dr-token -decode="$ENCODED_TOKEN" -otp="$OTP")"',
  ]
  const plan = await on('switchover', 'A', 'B', '--dry-run')
  expect(
    plan.stdout
      .trim()
      .split('\n')
      .map((line) => line.replace(/-address=\S+ /, '')),
  ).toEqual([
    ...generation,
    'vault write -f sys/replication/dr/primary/demote',
    'vault write sys/replication/dr/secondary/promote dr_operation_token="$DR_OPERATION_TOKEN"',
    ...generation,
    'ACTIVATION_TOKEN="$(vault write -field=wrapping_token sys/replication/dr/primary/secondary-token id=dr-a)"',
    'vault write sys/replication/dr/secondary/update-primary dr_operation_token="$DR_OPERATION_TOKEN" token="$ACTIVATION_TOKEN"',
  ])
  const dry = await on('switchover', 'A', 'B', '--dry-run', '--json')
  expect(JSON.parse(dry.stdout)).toMatchObject({
    lab: 'one',
    operation: 'switchover',
    dryRun: true,
    calls: plan.stdout.trim().split('\n'),
  })
  expect(await on('switchover', 'B', 'A', '--dry-run', '--json')).toMatchObject({ status: 2, stdout: '' })
  expect(await on('switchover', 'B', 'A', '--dry-run')).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('A is not a DR secondary'),
  })
  for (const words of ['failover A A', 'switchover A A', 'rejoin A A', 'activate A A'])
    expect((await on(...words.split(' '), '--dry-run')).stderr).toContain('specify two different clusters')
  expect((await on('failover', 'A', 'B', '--dry-run')).stdout).toMatch(/dr\/primary\/demote\n.*secondary\/promote/)
  const forced = await on('failover', 'A', 'B', '--force', '--dry-run')
  expect(forced.stdout).not.toContain('demote')
  expect(forced.stderr).toContain('A is running and stays a DR primary')
  expect((await on('status')).status).toBe(0)

  const crash = await on('crash', 'A', '--json')
  expect(JSON.parse(crash.stdout)).toEqual({
    lab: 'one',
    operation: 'crash',
    messages: [expect.stringContaining('A')],
    tookMs: expect.any(Number),
  })
  for (const words of ['seal A', 'rejoin A B', 'wait --cluster A --timeout 100ms'])
    expect((await on(...words.split(' '))).stderr).toContain('cluster A is stopped; "understudy start A --name one"')
  const failover = await on('failover', 'A', 'B', '--force', '--explain')
  expect([failover.status, failover.stderr]).toEqual([
    0,
    expect.stringContaining('when A is running again, make A a secondary of B: understudy rejoin A B --name one\n'),
  ])
  expect(failover.stdout).toMatch(
    /"\$KEY_SHARE"(?:\n|.)*-dr-token -decode=(?:\n|.)*dr_operation_token="\$DR_OPERATION_TOKEN" force=true/,
  )
  expect((await vault('B', 'read', '-field=word', 'kv/a')).stdout.trim()).toBe('kept')

  expect((await on('start', 'A')).status).toBe(0)
  expect((await on('fault', 'partition', 'A', 'B')).status).toBe(0)
  expect(await on('rejoin', 'A', 'B')).toMatchObject({
    status: 2,
    stderr: expect.stringContaining(
      'A cannot follow B: the link between A and B is cut; to heal it: understudy heal A B --name one\n',
    ),
  })
  expect((await on('heal', 'A', 'B')).status).toBe(0)
  const rejoined = await on('rejoin', 'A', 'B', '--json')
  expect(JSON.parse(rejoined.stdout)).toMatchObject({
    operation: 'rejoin',
    dryRun: false,
    messages: expect.arrayContaining([expect.stringContaining('replicated')]),
    calls: expect.arrayContaining([expect.stringContaining('secondary/update-primary')]),
  })
  await until(async () => (await on('status')).status === 0)
  expect(await on('rejoin', 'B', 'A')).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('A is not a DR primary: it is a DR secondary'),
  })
  expect(await on('activate', 'B', 'A')).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('A is a DR secondary, and can join another replication set only after'),
  })
  expect((await on('status')).status, 'what was refused has changed nothing').toBe(0)

  expect((await on('fault', 'partition', 'A', 'B')).status).toBe(0)
  await until(async () => (await on('status')).stdout.includes('transient_failure'))
  expect((await vault('B', 'write', 'kv/a', 'word=newer')).status).toBe(0)
  expect(await on('switchover', 'B', 'A', '--timeout', '1s')).toMatchObject({
    status: 4,
    stderr: expect.stringContaining('waiting for A to stream from B'),
  })
  expect(await on('failover', 'B', 'A')).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('B is a running DR primary, but A does not stream from it'),
  })
  expect((await vault('B', 'read', '-field=word', 'kv/a')).stdout.trim()).toBe('newer')
  expect((await on('heal', '--all')).status).toBe(0)
  expect((await on('switchover', 'B', 'A')).status).toBe(0)
  expect((await vault('A', 'read', '-field=word', 'kv/a')).stdout.trim()).toBe('newer')
  expect((await on('status')).status).toBe(0)
  expect((await on('token', 'dr-operation', 'B')).stdout).toMatch(/^hvs?\./)
  const { token } = JSON.parse((await on('token', 'dr-operation', 'B', '--json')).stdout) as { token: string }
  expect(token).toMatch(/^hvs?\./)
  expect(await on('token', 'dr-operation', 'A')).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('A is not a DR secondary: it is a DR primary'),
  })
  const planned = await on('failover', 'A', 'B')
  expect([planned.status, planned.stderr]).toEqual([
    0,
    expect.stringContaining('A is running, so this is a planned failover'),
  ])
  expect(planned.stderr).toContain('make A a secondary of B: understudy rejoin A B --name one\n')
  expect(planned.stderr).not.toContain('is running again')
  const { stdout } = await on('rejoin', 'A', 'B', '--dry-run')
  expect(stdout, 'it was demoted already').not.toContain('demote')
  expect((await on('rejoin', 'A', 'B')).status).toBe(0)
  expect(await on('failover', 'A', 'Q')).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('has no cluster "Q"'),
  })
})

it('a failover from a primary that is down fails if it may lose more than is accepted', {
  timeout: 600_000,
}, async () => {
  await using home = new LabHome()
  const on = (...args: string[]) => home.run(...args, ...NAMED)
  const vault = async (...args: string[]) => {
    const { status, stderr } = await home.run(
      'exec',
      'A',
      ...NAMED,
      '--',
      process.execPath,
      'dist/main.js',
      'vault',
      ...args,
    )
    expect(status, stderr).toBe(0)
  }
  expect((await on('up', 'dr', '--in-process', '--ports', 'random')).status).toBe(0)
  await vault('secrets', 'enable', 'kv')
  expect((await on('wait', '--for', 'converged')).status).toBe(0)
  expect((await on('fault', 'partition', 'A', 'B')).status).toBe(0)
  for (const path of ['kv/one', 'kv/two', 'kv/three']) await vault('write', path, 'word=late')

  expect((await on('crash', 'A')).status).toBe(0)
  for (const most of [[], ['--accept-loss', '99']])
    expect(await on('failover', 'A', 'B', ...most)).toMatchObject({
      status: 2,
      stderr: expect.stringMatching(
        /A is down, and a failover to B loses at least 3 log entries \(last heartbeat from A: \d+ s ago\)\. Start A again, or pass --accept-loss any/,
      ),
    })
  expect(await on('failover', 'A', 'B', '--accept-loss', 'all')).toMatchObject({ status: 1 })
  expect((await on('start', 'A')).status).toBe(0)
  expect((await on('stop', 'A')).status).toBe(0)
  expect((await on('status')).stderr).toContain('B loses 3 log entries in a failover')
  expect(await on('failover', 'A', 'B', '--accept-loss', '2')).toMatchObject({
    status: 2,
    stderr: expect.stringMatching(/a failover to B loses 3 log entries .* pass --accept-loss 3/),
  })
  expect((await on('failover', 'A', 'B', '--accept-loss', '3')).stderr).toContain('B is the DR primary now')
  expect((await on('heal', '--all')).status).toBe(0)
  expect((await on('start', 'A')).status).toBe(0)
  expect((await on('rejoin', 'A', 'B')).stderr).toMatch(/A discarded 3 log entries \(kv\/\S+, kv\/\S+, kv\/\S+\)/)

  expect((await on('wait', '--for', 'converged')).status).toBe(0)
  expect((await on('stop', 'B')).status).toBe(0)
  expect(await on('failover', 'B', 'A'), 'A has all log entries of B').toMatchObject({ status: 0 })
})

it('a failover that names an earlier primary of the replication set fails', { timeout: 600_000 }, async () => {
  await using home = new LabHome()
  const on = (...args: string[]) => home.run(...args, ...NAMED)
  const passes = (...args: string[]) => home.passes(...args, ...NAMED)
  const vault = (...args: string[]) =>
    home.passes('exec', 'B', ...NAMED, '--', process.execPath, 'dist/main.js', 'vault', ...args)
  const file = path.join(home.directory, 'copies.yaml')
  const links = ['B', 'C'].map((secondary) => ({ kind: 'dr', primary: 'A', secondary }))
  const topology = { apiVersion: 'understudy/v1', kind: 'Topology', name: 'copies', about: 'two DR secondaries' }
  writeFileSync(file, JSON.stringify({ ...topology, clusters: { A: {}, B: {}, C: {} }, links }))
  await passes('up', '-f', file, '--in-process', '--ports', 'random')
  await passes('wait', '--for', 'converged')
  await passes('stop', 'A')
  await passes('failover', 'A', 'B')
  await passes('rejoin', 'C', 'B')
  await vault('secrets', 'enable', 'kv')
  await passes('wait', '--for', 'replicated', '--cluster', 'C')
  await passes('fault', 'partition', 'B', 'C')
  await vault('write', 'kv/late', 'word=late')
  await passes('crash', 'B')
  for (const lost of ['A', 'B'])
    expect(await on('failover', lost, 'C'), lost).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('pass --accept-loss any'),
    })
  await passes('failover', 'B', 'C', '--accept-loss', 'any')
})

it('switchover exchanges a performance secondary and its DR copy, and back', { timeout: 600_000 }, async () => {
  await using home = new LabHome()
  const on = (...args: string[]) => home.run(...args, ...NAMED)
  expect((await on('up', 'four', '--ports', 'random')).status).toBe(0)
  for (const pair of [
    ['C', 'D'],
    ['D', 'C'],
  ])
    expect(await on('switchover', ...pair)).toMatchObject({
      status: 0,
      stderr: expect.stringContaining(`${pair[0]} is a DR secondary of ${pair[1]} and replicated`),
    })
})

it('promote moves the performance primary, and filter changes what a secondary receives', async () => {
  await using home = new LabHome()
  const on = (...args: string[]) => home.run(...args, ...NAMED)
  const vault = (cluster: string, ...args: string[]) =>
    home.run('exec', cluster, ...NAMED, '--', process.execPath, 'dist/main.js', 'vault', ...args)
  expect((await on('up', 'pr', '--in-process', '--ports', 'random')).status).toBe(0)
  expect((await vault('A', 'secrets', 'enable', '-path=EU', 'kv')).status).toBe(0)
  expect((await vault('A', 'write', 'EU/a', 'word=here')).status).toBe(0)
  expect((await on('filter', 'show', 'A', 'C')).stderr).toContain('C has no path filter')
  for (const flags of [[], ['--deny', ','], ['--allow', 'US/', '--deny', 'EU/']])
    expect(await on('filter', 'set', 'A', 'C', ...flags), flags.join(' ')).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('with either --allow or --deny'),
    })
  expect((await on('filter', 'set', 'A', 'C', '--deny', 'EU/,later/', '--dry-run')).stdout).toMatch(
    /performance\/primary\/paths-filter\/perf-c mode=deny paths=EU\/,later\/\n$/,
  )
  const set = await on('filter', 'set', 'A', 'C', '--deny', 'EU/,later/')
  expect([set.status, set.stderr]).toEqual([0, expect.stringContaining('WARNING: C loses the data that the path')])
  expect(set.stderr).toContain('"later/" is not an existing mount or namespace')
  expect((await on('filter', 'show', 'A', 'C')).stdout).toBe('deny EU/, later/\n')
  const filter = { mode: 'deny', paths: ['EU/', 'later/'] }
  expect(JSON.parse((await on('filter', 'show', 'A', 'C', '--json')).stdout)).toMatchObject({
    operation: 'show',
    filter,
  })
  expect((await on('status')).stdout).toContain('└── performance (deny EU/, later/) ──▶ C')
  expect(JSON.parse((await on('status', '--json')).stdout)).toMatchObject({ links: [{ secondary: 'C', filter }] })

  expect(await on('promote', 'C', '--kind', 'performance', '--dry-run')).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('C has a path filter and lacks data of its primary'),
  })
  expect(await on('filter', 'clear', 'A', 'C', '--explain')).toMatchObject({
    status: 0,
    stdout: expect.stringMatching(/^vault delete \S+ sys\/replication\/performance\/primary\/paths-filter\/perf-c\n$/),
  })
  expect((await on('wait', '--for', 'converged')).status).toBe(0)
  const promoted = await on('promote', 'C', '--kind', 'performance', '--explain')
  expect([promoted.status, promoted.stderr]).toEqual([0, expect.stringContaining('A is a performance secondary of C')])
  expect(promoted.stdout).toMatch(/primary\/demote\n(?:.*\n)*.*secondary\/promote\n(?:.*\n)*.*update-primary/)
  expect((await on('status')).stdout).toContain('└── performance ──▶ A')
  expect((await vault('C', 'read', '-field=word', 'EU/a')).stdout.trim()).toBe('here')
  expect(await on('promote', 'A', '--force', '--kind', 'performance')).toMatchObject({
    status: 0,
    stderr: expect.stringContaining('WARNING: the performance primary C is not demoted, so there are two primaries'),
  })
  expect(await on('rejoin', 'C', 'A', '--kind', 'performance')).toMatchObject({ status: 0 })
  expect((await on('wait', '--for', 'healthy')).status).toBe(0)
})

it('activate connects a secondary behind a filter, and logs collects the lines of all clusters', async () => {
  await using home = new LabHome()
  const on = (...args: string[]) => home.run(...args, ...NAMED)
  expect((await on('up', 'pr', '--ports', 'random')).status).toBe(0)
  const vault = (cluster: string, ...args: string[]) =>
    home.run('exec', cluster, ...NAMED, '--', process.execPath, 'dist/main.js', 'vault', ...args)
  expect(await on('activate', 'A', 'C', '--dry-run')).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('C is already a performance secondary'),
  })
  expect((await vault('C', 'write', '-f', 'sys/replication/performance/secondary/disable')).status).toBe(0)
  const planned = await on('activate', 'A', 'C', '--filter', 'deny:EU/', '--dry-run')
  expect(planned.stdout.split('\n').map((line) => /(?:primary|secondary)\/\S+/.exec(line)?.[0] ?? '')).toEqual([
    'primary/revoke-secondary',
    'primary/paths-filter/perf-c',
    'primary/secondary-token',
    'secondary/enable',
    '',
  ])
  expect((await vault('A', 'secrets', 'enable', '-path=EU', 'kv')).status).toBe(0)
  expect((await vault('A', 'write', 'EU/a', 'word=here')).status).toBe(0)
  const activated = await on('activate', 'A', 'C', '--kind', 'performance', '--filter', 'deny:EU/')
  expect([activated.status, activated.stderr]).toEqual([
    0,
    expect.stringContaining('C is a performance secondary of A'),
  ])
  expect(activated.stderr).toContain('WARNING: C loses all its data, and receives a copy of the data of A')
  expect((await vault('A', 'read', '-field=word', 'EU/a')).stdout.trim()).toBe('here')
  expect((await vault('C', 'read', 'EU/a')).status).toBe(2)

  expect(await on('activate', 'A', 'C')).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('C is already a performance secondary'),
  })
  expect((await on('status')).status, 'what was refused has changed nothing').toBe(0)
  expect(await on('up', 'dr')).toMatchObject({
    status: 5,
    stderr: expect.stringContaining('the lab "one" is running; "understudy down one" stops it'),
  })

  const lines = (await on('logs')).stdout.trim().split('\n')
  expect(new Set(lines.map((line) => (JSON.parse(line) as { cluster: string }).cluster))).toEqual(new Set(['A', 'C']))
  expect((await on('logs', '--export', path.join(home.directory, 'out'))).status).toBe(0)
  for (const name of ['A', 'C', 'keeper'])
    expect(existsSync(path.join(home.directory, 'out', `${name}.log`)), name).toBe(true)
  expect((await on('logs', 'Q')).status).toBe(1)
})
