import { expect, it } from 'vitest'
import { LabHome } from '../support/lab-home.js'
import { until } from '../support/until.js'

/**
 * Labs with several nodes per cluster that are saved, restored, started from a snapshot under another name, and reset.
 */

const vault = (home: LabHome, lab: string, cluster: string, ...words: string[]) =>
  home.run('exec', cluster, '--name', lab, '--', 'node', 'dist/main.js', 'vault', ...words)

const put = async (home: LabHome, lab: string, cluster: string, word: string) =>
  expect(await vault(home, lab, cluster, 'kv', 'put', 'kv/greeting', `word=${word}`)).toMatchObject({ status: 0 })

const wordOn = async (home: LabHome, lab: string, cluster: string) =>
  (await vault(home, lab, cluster, 'kv', 'get', '-field=word', 'kv/greeting')).stdout.trim()

const isHealthy = (home: LabHome, lab: string) => async () => (await home.run('status', '--name', lab)).status === 0

const activeOf = async (home: LabHome) => {
  const { clusters } = JSON.parse((await home.run('status', '--json')).stdout) as {
    clusters: readonly { nodes: readonly { name: string; isActive: boolean }[] }[]
  }
  return clusters[0]?.nodes.find(({ isActive }) => isActive)?.name ?? ''
}

const begin = async (home: LabHome, ...flags: string[]) => {
  await home.passes('up', ...flags, '--nodes', '3', '--ports', 'random')
  expect(await vault(home, 'default', 'A', 'secrets', 'enable', '-path=kv', 'kv')).toMatchObject({ status: 0 })
  await put(home, 'default', 'A', 'kept')
}

it('a lab with nodes restores a snapshot with a sealed node, and a lab started from it replicates', {
  timeout: 300_000,
}, async () => {
  await using home = new LabHome()
  const run = (...words: string[]) => home.passes(...words)
  await begin(home, 'dr')
  await run('wait', '--for', 'replicated')
  await run('seal', 'A3')
  expect((await run('snapshot', 'save', 'one')).stderr).toMatch(/writes were paused for \d+ ms/)
  await put(home, 'default', 'A', 'later')
  await run('unseal', 'A3')
  await run('crash', await activeOf(home))

  await run('snapshot', 'load', 'one')
  expect(await wordOn(home, 'default', 'A')).toBe('kept')
  expect((await home.run('status')).stderr).toContain('A has a node A3 that is sealed')

  await run('up', '--snapshot', 'one', '--name', 'two', '--ports', 'random')
  await put(home, 'two', 'A', 'of the second')
  expect(await wordOn(home, 'default', 'A')).toBe('kept')
  await run('down')
  await run('wait', '--for', 'replicated', '--name', 'two')
  await run('crash', 'A', '--name', 'two')
  await run('failover', 'A', 'B', '--force', '--name', 'two')
  expect(await wordOn(home, 'two', 'B')).toBe('of the second')
  // A lab that was started from a snapshot resets to that snapshot.
  await run('reset', '--name', 'two')
  expect(await wordOn(home, 'two', 'A')).toBe('kept')
  await run('unseal', 'A3', '--name', 'two')
  await until(isHealthy(home, 'two'))
})

it('a lab with storage "raft" restores a snapshot, even with a removed node, and starts from it under another name', {
  timeout: 300_000,
}, async () => {
  await using home = new LabHome()
  const run = (...words: string[]) => home.passes(...words)
  await begin(home, 'single', '--storage', 'raft', '--shamir', '3/2')
  await run('snapshot', 'save', 'one')
  await put(home, 'default', 'A', 'later')
  const standby = (await activeOf(home)) === 'A3' ? 'A2' : 'A3'
  expect(await vault(home, 'default', 'A', 'operator', 'raft', 'remove-peer', standby)).toMatchObject({ status: 0 })
  const restarted = await home.run('restart', standby)
  expect(restarted.stderr).toContain(`${standby} was removed from its cluster`)
  expect(restarted.status).toBe(5)
  await run('snapshot', 'load', 'one')
  expect(await wordOn(home, 'default', 'A')).toBe('kept')
  await until(isHealthy(home, 'default'))

  await run('up', '--snapshot', 'one', '--name', 'two', '--ports', 'random')
  await run('down')
  await put(home, 'two', 'A', 'of the second')
  await run('stop', 'A', '--name', 'two')
  await run('reset', '--name', 'two')
  expect(await wordOn(home, 'two', 'A')).toBe('kept')
  const peers = await vault(home, 'two', 'A', 'operator', 'raft', 'list-peers')
  expect(peers.stdout.match(/A[123] /g)).toHaveLength(3)
  await until(isHealthy(home, 'two'))
})

it('a lab with storage "raft" and a DR secondary starts from a snapshot under another name and fails over', {
  timeout: 600_000,
}, async () => {
  await using home = new LabHome()
  const run = (...words: string[]) => home.passes(...words)
  await begin(home, 'dr', '--storage', 'raft', '--shamir', '3/2')
  await run('wait', '--for', 'converged')
  await run('snapshot', 'save', 'one')
  // A DR secondary shows its voters only with an operation token, so the switchover tests the other cluster as well.
  await run('switchover', 'A', 'B')
  await run('reset', '--timeout', '2m')
  await run('down')
  await run('up', '--snapshot', 'one', '--name', 'two', '--ports', 'random', '--timeout', '2m')
  await put(home, 'two', 'A', 'of the second')
  await run('wait', '--for', 'converged', '--name', 'two')
  await run('crash', 'A', '--name', 'two')
  await run('crash', 'B1', '--name', 'two')
  await run('failover', 'A', 'B', '--force', '--name', 'two')
  expect(await wordOn(home, 'two', 'B')).toBe('of the second')
})

it('a lab in one process with auto-unsealed nodes starts from a snapshot under another name and resets', {
  timeout: 300_000,
}, async () => {
  await using home = new LabHome()
  const run = (...words: string[]) => home.passes(...words)
  await begin(home, 'single', '--in-process', '--seal', 'auto')
  await run('stop', 'A2')
  await run('snapshot', 'save', 'one')
  await put(home, 'default', 'A', 'later')
  await run('up', '--snapshot', 'one', '--name', 'two', '--ports', 'random')
  await run('down')
  expect(await wordOn(home, 'two', 'A')).toBe('kept')
  expect((await home.run('status', '--name', 'two')).stderr).toContain('A has a node A2 that is stopped')
  await put(home, 'two', 'A', 'of the second')
  await run('start', 'A2', '--name', 'two')
  // The shared log of the nodes is in the memory of the killed process.
  for (const pid of home.processes()) process.kill(pid, 'SIGKILL')
  await run('reset', '--name', 'two')
  expect(await wordOn(home, 'two', 'A')).toBe('kept')
})
