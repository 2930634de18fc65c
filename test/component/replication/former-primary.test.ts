import { expect, test } from 'vitest'
import { LogicalError } from '../../../src/logical/errors.js'
import { openWorld, promoteDr, demoteAndFollow } from '../../support/control-cluster.js'
import { tellFormerPrimary } from '../../../src/replication/roles/former-primary.js'
import { PrimaryRole } from '../../../src/replication/roles/primary-role.js'
import type { DataPlane, Told } from '../../../src/replication/host/services.js'
import { until } from '../../support/until.js'

/** A promoted primary notifies the former primary until that has joined it. */

const world = openWorld()

/** Promotes `b` while `a`, the primary, does not know it. */
const startOvertaken = async () => {
  const [a, b] = await world.startPair('dr', 'b')
  await promoteDr(b)
  return { a, b }
}

test('a primary forgets its former primary after that has joined, even if the first write fails', async () => {
  const { a, b } = await startOvertaken()
  const { roles } = b.replication.context
  const isKnown = () => {
    const record = roles.record('dr')
    return record.mode === 'primary' && record.former !== undefined
  }
  expect(isKnown()).toBe(true)
  let refused = 0
  const update = roles.update.bind(roles)
  roles.update = async (kind, change) => {
    const next = change(roles.record(kind))
    if (refused > 0 || !isKnown() || (next.mode === 'primary' && next.former)) return update(kind, change)
    refused++
    throw new LogicalError('unavailable', 'the disk is full')
  }
  await demoteAndFollow(a, b, 'a')
  await until(() => !isKnown())
  expect(refused).toBe(1)
})

test('a demoted primary stops notifying its former primary, whatever the response is', async () => {
  const { b } = await startOvertaken()
  const { roles, fences, host } = b.replication.context
  const record = roles.record('dr')
  if (record.mode !== 'primary') throw new Error('b is no primary')
  // A role that identifies itself and serves no requests.
  const services = {} as ConstructorParameters<typeof PrimaryRole>[0]['services']
  const hooks = new PrimaryRole({ ...b.replication.context, kind: 'dr', services, standbys: () => [] })
  const overtaker = hooks.who()
  const requests: ((told: Told) => void)[] = []
  const dataPlane = { tell: () => new Promise<Told>((resolve) => requests.push(resolve)) } as unknown as DataPlane
  const registry = { views: () => [], watch: () => () => undefined }
  const { signal } = new AbortController()
  const options = { kind: 'dr', host, roles, fences, dataPlane, record, hooks, registry, signal } as const
  const notifications = [tellFormerPrimary(options), tellFormerPrimary(options)]
  await b.change('replication/dr/primary/demote')
  for (const [at, answer] of requests.entries()) answer({ isHeard: true, ...(at === 0 ? { overtaker } : {}) })
  await Promise.all(notifications)
  expect(requests).toHaveLength(2)
})
