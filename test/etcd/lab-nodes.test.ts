import { expect, it } from 'vitest'
import { LabHome } from '../support/lab-home.js'
import { until } from '../support/until.js'

/**
 * Labs of the command line with several nodes per cluster: as processes over the etcd of the lab, and in one process.
 */

interface NodeSeen {
  readonly name: string
  readonly state: string
  readonly isActive: boolean
  readonly apiAddress: string
  readonly appliedIndex: number | null
}

const nodesOf = async (home: LabHome): Promise<readonly NodeSeen[]> => {
  const { stdout } = await home.run('status', '--json')
  const survey = JSON.parse(stdout) as { clusters: readonly { nodes: readonly NodeSeen[] }[] }
  return survey.clusters.flatMap(({ nodes }) => nodes)
}

const activeOf = async (home: LabHome): Promise<NodeSeen | undefined> =>
  (await nodesOf(home)).find(({ isActive }) => isActive)

it.each([[[]], [['--in-process']]])(
  'commands show, kill, seal and start nodes of a lab by name: up %j',
  { timeout: 300_000 },
  async (flags) => {
    await using home = new LabHome()
    const up = await home.run('up', 'single', '--nodes', '3', '--ports', 'random', ...flags)
    expect(up, up.stderr).toMatchObject({ status: 0 })
    expect((await nodesOf(home)).map(({ name, state }) => `${name} ${state}`)).toEqual([
      'A1 active',
      'A2 standby',
      'A3 standby',
    ])
    const standby = await home.vault('A2', 'status')
    expect(standby.stdout).toMatch(/^HA Mode +standby$/m)
    expect(standby.stdout).toMatch(/^Performance Standby Node +true$/m)
    expect(await home.vault('A', 'secrets', 'enable', '-path=kv', 'kv')).toMatchObject({ status: 0 })
    expect(await home.vault('A', 'kv', 'put', 'kv/greeting', 'word=hello')).toMatchObject({ status: 0 })
    expect((await home.run('crash', 'A1')).stderr).toContain('node A1 was killed')
    // `vault` waits for the next active node.
    expect((await home.vault('A', 'kv', 'get', '-field=word', 'kv/greeting')).stdout.trim()).toBe('hello')
    const status = await home.run('status')
    expect(status).toMatchObject({ status: 2 })
    expect(status.stderr).toContain('A has a node A1 that has crashed')
    const active = await activeOf(home)
    expect(active?.name).toMatch(/^A[23]$/)
    expect((await home.run('env', 'A')).stdout).toContain(`VAULT_ADDR=${active?.apiAddress}\n`)
    expect((await home.run('start', 'A1')).stderr).toContain('node A1 is ready')
    await until(async () => (await home.run('status')).status === 0)
    const other = active?.name === 'A2' ? 'A3' : 'A2'
    expect((await home.run('env', other)).stdout).not.toContain(active?.apiAddress)
    await home.run('seal', other)
    expect((await nodesOf(home)).find(({ name }) => name === other)).toMatchObject({ state: 'sealed' })
    await home.run('unseal', other)
    await until(async () => (await home.run('status')).status === 0)
    expect((await home.run('logs', other)).stdout).toContain('the node changed its state')
    expect((await home.run('wait', '--for', 'unsealed', '--cluster', other)).stderr).toContain(
      `node ${other} is unsealed`,
    )
    const leader = (await activeOf(home))?.name
    expect((await home.run('step-down', 'A')).stderr).toContain(`and ${leader} is a standby`)
    const next = (await activeOf(home))?.name
    expect(next).not.toBe(leader)
    const isTold = async () => (await home.run('events')).stdout.includes(`${next} node           standby -> active`)
    await until(isTold)
    expect((await home.run('fault', 'partition', 'A1', other)).status).toBe(0)
    expect((await home.run('fault', 'ls')).stdout).toMatch(new RegExp(`A1.*${other}`))
    expect((await home.run('heal', '--all')).status).toBe(0)
    expect((await home.run('restart', 'A')).status).toBe(0)
    expect((await home.vault('A', 'kv', 'get', '-field=word', 'kv/greeting')).stdout.trim()).toBe('hello')
    expect((await home.run('down')).status).toBe(0)
    expect(home.processes()).toEqual([])
    expect(home.left()).toEqual([])
  },
)

it('a running lab plays drills on its nodes repeatedly', { timeout: 300_000 }, async () => {
  await using home = new LabHome()
  const up = await home.run('up', 'single', '--nodes', '3', '--ports', 'random', '--in-process')
  expect(up, up.stderr).toMatchObject({ status: 0 })
  for (const drill of ['step-down', 'step-down', 'rolling-restart', 'node-failover']) {
    const before = await activeOf(home)
    const run = await home.run('drill', 'run', drill, '--name', 'default')
    expect(run, `${drill} with ${before?.name} active`).toMatchObject({ status: 0 })
    if (drill === 'rolling-restart')
      expect([...run.stdout.matchAll(/\$ understudy restart (A\d)\n/g)].at(-1)?.[1]).toBe(before?.name)
  }
  await until(async () => (await home.run('status')).status === 0)
})

it('the etcd of a lab ends with its lab daemon, even if that is killed, and restarts with it', {
  timeout: 300_000,
}, async () => {
  await using home = new LabHome()
  const up = await home.run('up', 'single', '--nodes', '3', '--ports', 'random')
  expect(up, up.stderr).toMatchObject({ status: 0 })
  const { keeper } = home.record('default')
  const processes = home.processes().length
  process.kill(keeper.process?.pid ?? 0, 'SIGKILL')
  await until(async () => home.processes().length === 3)
  expect((await home.run('start')).status).toBe(0)
  await until(async () => (await home.run('status')).status === 0)
  expect(home.processes()).toHaveLength(processes)
  await home.run('down')
  expect(home.processes()).toEqual([])
})

it('up rejects an unsupported number of nodes before it starts anything', async () => {
  await using home = new LabHome()
  expect(await home.run('up', 'single', '--nodes', '2')).toMatchObject({ status: 1 })
  expect(home.left()).toEqual([])
})
