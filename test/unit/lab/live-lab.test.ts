import { expect, it } from 'vitest'
import { systemClock } from '../../../src/base/clock.js'
import type { ActiveFault } from '../../../src/lab/daemon/active-fault.js'
import { type LabDriver, LiveLab } from '../../../src/lab/live/live-lab.js'
import { kindOf } from '../../../src/lab/live/open-lab.js'
import type { AnyLab } from '../../../src/lab/model/cluster.js'

const CLUSTER = { rootToken: '', unsealKeys: [], threshold: 0, caFile: undefined }

/** Returns a lab of the clusters A, with two nodes, B and C, and link faults between these pairs, numbered from 1. */
const labWithFaults = (...pairs: readonly (readonly [string, string])[]): LiveLab => {
  const faults = pairs.map(
    (between, at): ActiveFault => ({ id: at + 1, between, isOneWay: false, fault: { name: 'partition' } }),
  )
  const driver: LabDriver = {
    kind: 'in-process',
    links: 'here',
    name: 'lab',
    topology: { name: 'lab', about: '', clusters: ['A', 'B', 'C'], links: [] },
    clock: systemClock,
    events: { append: async () => undefined, subscribe: () => () => undefined, close: () => undefined },
    faults: { list: async () => faults, heal: async () => [], set: () => Promise.reject(new Error('not used')) },
    clusters: () => [
      {
        ...CLUSTER,
        name: 'A',
        apiAddress: 'http://127.0.0.1:1',
        nodeAddresses: ['http://127.0.0.1:1', 'http://127.0.0.1:2'],
      },
      { ...CLUSTER, name: 'B', apiAddress: 'http://127.0.0.1:3' },
      { ...CLUSTER, name: 'C', apiAddress: 'http://127.0.0.1:4' },
    ],
    saveKeys: () => undefined,
    work: () => Promise.reject(new Error('not used')),
  }
  return new LiveLab(driver)
}

it('the faults between two clusters include those of their nodes, in any order', async () => {
  await using lab = labWithFaults(['A', 'B'], ['B', 'A2'], ['A1', 'A2'], ['A', 'C'])
  const idsBetween = async (one: string, other: string) => (await lab.faultsBetween(one, other)).map(({ id }) => id)
  expect(await idsBetween('A', 'B')).toEqual([1, 2])
  expect(await idsBetween('B', 'A')).toEqual([1, 2])
  expect(await idsBetween('A2', 'B')).toEqual([2])
  await expect(idsBetween('A', 'D')).rejects.toMatchObject({ code: 'usage' })
})

it('the kind of a lab that "understudy up" started is in-process if its servers run in one process', () => {
  const lab = { state: 'running', clusters: [] } as unknown as AnyLab
  expect([kindOf(lab), kindOf({ ...lab, isInProcess: true } as AnyLab)]).toEqual(['process', 'in-process'])
})
