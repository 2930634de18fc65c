import { beforeAll, describe, expect, it } from 'vitest'
import { type Cluster, openClusters } from '../support/clusters.js'
import { PAIR_ROLES, PENDING_IN_PAIR } from './pending.js'
import { allFlows, playFlow, unknownSteps } from './play.js'

/**
 * The recorded flows on a performance pair. Clients see no difference: a secondary forwards what is not its own to write,
 * and what it answered can be read from it at once.
 */

/** These are about a cluster that replicates nothing. */
const ALONE = 'health-codes'
const flows = allFlows.filter((flow) => flow.server !== 'fresh' && flow.name !== ALONE)

const clusters = openClusters()
const roles = new Map<string, Cluster>()

beforeAll(async () => {
  const [primary, secondary] = await Promise.all([clusters.add('A'), clusters.add('B')])
  await clusters.join(primary, secondary, 'performance')
  roles.set('primary', primary).set('secondary', secondary)
})

describe.each(PAIR_ROLES)('recorded flows on a performance %s', (role) => {
  const pending = PENDING_IN_PAIR.filter((entry) => (entry.role ?? role) === role)
  for (const flow of flows) {
    it(`${flow.name}: ${flow.about}`, async () => {
      const cluster = roles.get(role)
      if (!cluster) throw new Error('no cluster')
      const server = { address: cluster.apiAddress, token: cluster.rootToken }
      expect(await playFlow(flow, server, pending)).toEqual([])
    })
  }
})

it('every pending step is known', () => {
  expect(unknownSteps(PENDING_IN_PAIR)).toEqual([])
})
