import { afterAll, beforeAll, expect, it } from 'vitest'
import { listDrills, loadDrill } from '../../src/lab/drills/catalogue.js'
import { shortenWaits, PROCESS_DRILL_BREAKS } from '../support/drill-breaks.js'
import { failuresOf, playAlone } from '../support/drill-player.js'
import { LabHome } from '../support/lab-home.js'
import { until } from '../support/until.js'

/** Labs with storage "raft": each node has its own data, and a quorum of nodes must run. */

it('nodes of a lab with storage "raft" are voters, and serve again after a stop of all nodes', {
  timeout: 300_000,
}, async () => {
  await using home = new LabHome()
  const up = await home.run('up', 'single', '--nodes', '3', '--storage', 'raft', '--ports', 'random', '--shamir', '3/2')
  expect(up, up.stderr).toMatchObject({ status: 0 })
  expect(home.record('default')).not.toHaveProperty('etcd')
  const peers = await home.vault('A', 'operator', 'raft', 'list-peers', '-format=json')
  const { servers } = (
    JSON.parse(peers.stdout) as { data: { config: { servers: { node_id: string; voter: boolean }[] } } }
  ).data.config
  expect(servers.map(({ node_id, voter }) => `${node_id} ${voter}`)).toEqual(['A1 true', 'A2 true', 'A3 true'])
  expect(await home.vault('A', 'secrets', 'enable', '-path=kv', 'kv')).toMatchObject({ status: 0 })
  expect(await home.vault('A', 'kv', 'put', 'kv/greeting', 'word=hello')).toMatchObject({ status: 0 })
  expect((await home.run('stop')).status).toBe(0)
  expect(home.servers()).toEqual([])
  // No node can serve before a second one runs.
  const start = await home.run('start')
  expect(start, start.stderr).toMatchObject({ status: 0 })
  await until(async () => (await home.run('status')).status === 0)
  expect((await home.vault('A', 'kv', 'get', '-field=word', 'kv/greeting')).stdout.trim()).toBe('hello')
  expect((await home.run('down')).status).toBe(0)
  expect(home.processes()).toEqual([])
  expect(home.left()).toEqual([])
})

it('up rejects a storage that does not support the nodes before it starts anything', async () => {
  await using home = new LabHome()
  const inProcess = await home.run('up', 'single', '--nodes', '3', '--storage', 'raft', '--in-process')
  expect(inProcess).toMatchObject({ status: 1 })
  expect(inProcess.stderr).toContain('which require a lab of processes')
  const alone = await home.run('up', 'single', '--storage', 'raft')
  expect(alone).toMatchObject({ status: 1 })
  expect(alone.stderr).toContain('add --nodes')
  expect(home.left()).toEqual([])
})

const stateHome = process.env.XDG_STATE_HOME
let labs: LabHome
beforeAll(() => {
  labs = new LabHome()
  process.env.XDG_STATE_HOME = labs.directory
})
afterAll(async () => {
  if (stateHome === undefined) delete process.env.XDG_STATE_HOME
  else process.env.XDG_STATE_HOME = stateHome
  await labs[Symbol.asyncDispose]()
})

it.each(PROCESS_DRILL_BREAKS)('$drill fails when $what', { timeout: 300_000 }, async ({ drill, change, fails }) => {
  const result = await playAlone(shortenWaits(change(loadDrill(drill))), 'process')
  expect(result).toMatchObject({ error: null, verdict: 'failed' })
  expect(failuresOf(result)).toMatch(new RegExp(fails.source, 'm'))
})

it('the table of broken drills includes every drill that needs processes', () => {
  const here = listDrills().filter(({ runners }) => runners.length === 1 && runners[0] === 'process')
  expect(new Set(PROCESS_DRILL_BREAKS.map(({ drill }) => drill))).toEqual(new Set(here.map(({ name }) => name)))
})
