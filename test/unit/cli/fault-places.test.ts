import { expect, it } from 'vitest'
import { chooseFaults } from '../../../src/cli/commands/lab/fault-places.js'
import type { LabRecord } from '../../../src/lab/model/cluster.js'
import type { ActiveFault } from '../../../src/lab/daemon/active-fault.js'

const LAB = {
  clusters: [{ name: 'A', nodes: [{ name: 'A1' }, { name: 'A2' }] }, { name: 'B' }],
} as unknown as LabRecord
const onLink = (id: number, ...between: [string, string]): ActiveFault => ({
  id,
  between,
  isOneWay: false,
  fault: { name: 'down' },
})
const onServer = (id: number, cluster: string): ActiveFault => ({ id, cluster, fault: { name: 'skew', ms: 1 } })
const ACTIVE = [onLink(1, 'A', 'A'), onLink(2, 'A1', 'A2'), onLink(3, 'A', 'B'), onServer(4, 'A2'), onServer(5, 'B')]

it.each([
  [['A'], [1, 2, 4]],
  [['A2'], [4]],
  [['B'], [5]],
  [['A', 'B'], [3]],
  [['3'], [3]],
])('heal %j ends the faults %j', (what, ids) => {
  expect(chooseFaults(ACTIVE, what, LAB).map(({ id }) => id)).toEqual(ids)
})
