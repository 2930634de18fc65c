import { expect, it } from 'vitest'
import type { ActiveFault } from '../../src/lab/daemon/active-fault.js'
import { LabHome } from '../support/lab-home.js'

/**
 * Faults in a lab whose clusters have several nodes: a node by its name, or all nodes of a cluster by the name of the
 * cluster.
 */

const faults = async (home: LabHome): Promise<readonly string[]> => {
  const active = JSON.parse((await home.run('fault', 'ls', '--json')).stdout) as readonly ActiveFault[]
  return active.map((one) => ('between' in one ? one.between.join('-') : `${one.cluster} ${one.fault.name}`))
}

const done = async (home: LabHome, line: string): Promise<string> => {
  const { status, stderr } = await home.run(...line.split(' '))
  expect(status, `${line}: ${stderr}`).toBe(0)
  return stderr
}

it('faults are set and healed by node name, and for all nodes by cluster name', {
  timeout: 120_000,
}, async () => {
  await using home = new LabHome()
  await done(home, 'up single --nodes 3 --in-process --ports random')

  await done(home, 'fault partition A1 A2')
  await done(home, 'fault partition A1 A3')
  await done(home, 'heal A2 A1')
  expect(await faults(home)).toEqual(['A1-A3'])
  await done(home, 'heal A A')
  expect(await faults(home)).toEqual([])

  await done(home, 'fault disk A2 full')
  await done(home, 'fault skew A3 +5m')
  await done(home, 'heal A2')
  expect(await faults(home)).toEqual(['A3 skew'])
  expect(await done(home, 'heal A')).toContain('healed A3, clock +300 s')
  expect(await done(home, 'heal A')).toContain('there is no fault on A')

  const every = (fault: string) => ['A1', 'A2', 'A3'].map((node) => `${node} ${fault}`)
  await done(home, 'fault disk A full')
  await done(home, 'fault skew A +5m')
  expect(await faults(home)).toEqual([...every('disk'), ...every('skew')])
  await done(home, 'heal A')

  const held = await home.run('fault', 'hold', 'A', '--state', 'merkle-sync', '--json')
  expect((JSON.parse(held.stdout) as ActiveFault[]).map((one) => 'cluster' in one && one.cluster)).toEqual([
    'A1',
    'A2',
    'A3',
  ])
  await done(home, 'release A2 --state merkle-sync')
  expect(await faults(home)).toEqual(['A1 hold-state', 'A3 hold-state'])
  await done(home, 'release A')
  expect(await faults(home)).toEqual([])

  // Only the active node has the trees open.
  expect(await done(home, 'fault corrupt A')).toMatch(/fault \d+: A1, page 0 of the replicated tree corrupted/)

  // If one node rejects a fault, the others get it nonetheless, and the output says so.
  await done(home, 'stop A3')
  const refused = await home.run('fault', 'disk', 'A', 'slow')
  expect([refused.status, refused.stderr]).toEqual([2, expect.stringContaining('A3 does not respond')])
  expect(await faults(home)).toEqual(['A1 disk', 'A2 disk'])
  const strange = await home.run('heal', 'A9')
  expect([strange.status, strange.stderr]).toEqual([1, expect.stringContaining('it has A')])
  await done(home, 'heal --all')

  // The address of a node is known without a request to it. For a stopped node, the output says that it is stopped.
  await done(home, 'fault partition A1 A2')
  const cut = await home.run('env', 'A2')
  expect([cut.status, cut.stdout], cut.stderr).toEqual([
    0,
    expect.stringContaining(`VAULT_ADDR=${home.record('default').clusters[0]?.nodes?.[1]?.apiAddress}\n`),
  ])
  expect(cut.stdout + cut.stderr).not.toContain('HTTP/2')
  const stopped = await home.run('env', 'A3')
  expect(stopped.stdout + stopped.stderr).toContain('node A3 is stopped; "understudy start A3" starts it')
  await done(home, 'heal --all')
  expect(await done(home, 'seal A2')).toContain('node A2 is sealed')
})
