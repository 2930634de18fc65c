import { expect, it } from 'vitest'
import { LabHome } from '../support/lab-home.js'
import { until } from '../support/until.js'

/**
 * Two regions with clusters of three nodes. A has the DR secondary B and the performance secondary C, which has the DR
 * secondary D.
 */

const seenAs = async (home: LabHome) => {
  const { stdout } = await home.run('status', '--json')
  return JSON.parse(stdout) as {
    clusters: readonly { name: string; nodes: readonly { name: string; isActive: boolean }[] }[]
  }
}

const activeOf = async (home: LabHome, clusters: readonly string[]): Promise<readonly string[]> => {
  const seen = (await seenAs(home)).clusters.filter(({ name }) => clusters.includes(name))
  return seen.map(({ name, nodes }) => nodes.find(({ isActive }) => isActive)?.name ?? `no node of ${name}`)
}

const put = async (home: LabHome, cluster: string, word: string) =>
  expect(await home.vault(cluster, 'kv', 'put', 'kv/greeting', `word=${word}`)).toMatchObject({ status: 0 })

const wordOn = async (home: LabHome, cluster: string) =>
  (await home.vault(cluster, 'kv', 'get', '-field=word', 'kv/greeting')).stdout.trim()

it('two regions of processes survive kills of active nodes on both sides and a failover', {
  timeout: 600_000,
}, async () => {
  await using home = new LabHome()
  await home.passes('up', 'four', '--nodes', '3', '--ports', 'random', '--timeout', '5m')
  expect(await home.vault('A', 'secrets', 'enable', '-path=kv', 'kv')).toMatchObject({ status: 0 })

  // Kills both ends of a link at once: first A and C, then the DR secondaries B and D.
  for (const sides of [
    ['A', 'C'],
    ['B', 'D'],
  ]) {
    const killed = await activeOf(home, sides)
    await home.passes('crash', ...killed)
    await put(home, 'A', `without ${killed}`)
    await until(async () => (await wordOn(home, 'C')) === `without ${killed}`)
    for (const node of await activeOf(home, sides)) expect(killed).not.toContain(node)
    await home.passes('start', ...killed)
    await home.passes('wait', '--for', 'converged', '--timeout', '1m')
  }

  const last = await wordOn(home, 'A')
  await home.passes('crash', 'A')
  await home.passes('failover', 'A', 'B', '--force')
  expect(await wordOn(home, 'B')).toBe(last)
  await put(home, 'C', 'through the other region')
  expect(await wordOn(home, 'B')).toBe('through the other region')
  for (const secondary of ['C', 'D']) await home.passes('wait', '--for', 'replicated', '--cluster', secondary)
})
