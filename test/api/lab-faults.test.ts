import { expect, it } from 'vitest'
import type { ActiveFault } from '../../src/lab/keeper/active-fault.js'
import { LabHome } from '../support/lab-home.js'
import { until } from '../support/until.js'

const NAMED = ['--name', 'one'] as const

/** The connection states of B (DR) and C (performance), which both follow A. */
const states = async (home: LabHome): Promise<{ b: string; c: string }> => {
  const survey = JSON.parse((await home.run('status', '--json', ...NAMED)).stdout) as {
    clusters: { dr: { connectionState: string }; performance: { connectionState: string } }[]
  }
  return {
    b: survey.clusters[1]?.dr.connectionState ?? '',
    c: survey.clusters[2]?.performance.connectionState ?? '',
  }
}

const faults = async (home: LabHome) =>
  JSON.parse((await home.run('fault', 'ls', '--json', ...NAMED)).stdout) as ActiveFault[]

it('cuts and heals one link of a lab of processes, and no other', async () => {
  await using home = new LabHome()
  expect((await home.run('up', 'pr-dr', '--ports', 'random', ...NAMED)).status).toBe(0)

  expect(await home.run('fault', 'partition', 'A', 'C', ...NAMED)).toMatchObject({
    status: 0,
    stderr: expect.stringContaining('fault 1: A <-> C, partition'),
  })
  await until(async () => (await states(home)).c !== 'ready')
  expect((await states(home)).b).toBe('ready')
  const cut = await home.run('status', ...NAMED)
  expect([cut.status, cut.stderr]).toEqual([2, expect.stringContaining('the link A <-> C has a fault (partition)')])

  expect((await home.run('heal', 'A', 'C', ...NAMED)).status).toBe(0)
  await until(async () => (await states(home)).c === 'ready')

  // It heals by itself, and one way is enough to cut.
  expect((await home.run('fault', 'partition', 'A', 'B', '--one-way', '--for', '3s', ...NAMED)).status).toBe(0)
  await until(async () => (await states(home)).b !== 'ready')
  await until(async () => (await faults(home)).length === 0)
  await until(async () => (await states(home)).b === 'ready')

  for (const args of [
    ['latency', 'A', 'C', '20ms', '--jitter', '5ms'],
    ['bandwidth', 'A', 'C', '256kB/s'],
    ['down', 'A', 'B'],
  ])
    expect((await home.run('fault', ...args, ...NAMED)).status, args.join(' ')).toBe(0)
  expect((await faults(home)).map(({ id, fault }) => [id, fault])).toEqual([
    [3, { name: 'latency', ms: 20, jitterMs: 5 }],
    [4, { name: 'bandwidth', bytesPerSecond: 256_000 }],
    [5, { name: 'down' }],
  ])
  expect((await home.run('heal', '5', ...NAMED)).status).toBe(0)
  expect((await home.run('heal', '--all', ...NAMED)).status).toBe(0)
  expect(await faults(home)).toEqual([])
  expect((await home.run('wait', '--for', 'replicated', ...NAMED)).status).toBe(0)

  const refusals: readonly [readonly string[], string][] = [
    [['fault', 'partition', 'A', 'Q'], 'there is no link between A and Q'],
    [['fault', 'latency', 'A', 'C', 'long'], '"long" is not a duration'],
    [['fault', 'bandwidth', 'A', 'C', '0'], '"0" is not a size'],
    [['heal'], 'say which'],
    [['heal', '77'], 'there is no fault 77'],
  ]
  for (const [args, text] of refusals) {
    const { status, stderr } = await home.run(...args, ...NAMED)
    expect([status, stderr], args.join(' ')).toEqual([1, expect.stringContaining(text)])
  }
})

it('says that the keeper of the links is gone, and brings it back on the same ports', async () => {
  await using home = new LabHome()
  expect((await home.run('up', 'dr', '--ports', 'random', ...NAMED)).status).toBe(0)
  process.kill(home.record('one').keeper.process?.pid ?? 0, 'SIGKILL')
  await until(async () => (await home.run('status', ...NAMED)).stderr.includes('the keeper does not answer'))
  expect(await home.run('fault', 'ls', ...NAMED)).toMatchObject({ status: 5 })
  expect((await home.run('start', ...NAMED)).status).toBe(0)
  expect((await home.run('wait', '--for', 'replicated', ...NAMED)).status).toBe(0)
  expect((await home.run('status', ...NAMED)).status).toBe(0)
  expect((await home.run('down', 'one')).status).toBe(0)
  expect([home.processes(), home.left()]).toEqual([[], []])
})
