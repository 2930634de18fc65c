import { expect, test } from 'vitest'
import { LogicalError } from '../../../src/logical/errors.js'
import { openWorld, promoteDr, yieldTo } from '../../support/control-cluster.js'
import { tellFormerPrimary } from '../../../src/replication/roles/former-primary.js'
import { PrimaryRole } from '../../../src/replication/roles/primary-role.js'
import type { DataPlane, Told } from '../../../src/replication/host/services.js'
import { until } from '../../support/until.js'

/** A primary that took over tells the former one, until that has joined it. */

const world = openWorld()

/** `b` has taken the place of `a`, which does not know. */
const startOvertaken = async () => {
  const [a, b] = await world.startPair('dr', 'b')
  await promoteDr(b)
  return { a, b }
}

test('a former primary that has joined is forgotten, also where that could not be written at once', async () => {
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
  await yieldTo(a, b, 'a')
  await until(() => !isKnown())
  expect(refused).toBe(1)
})

test('a primary that is demoted while the former one is asked ends that, whatever the answer is', async () => {
  const { b } = await startOvertaken()
  const { roles, fences, host } = b.replication.context
  const record = roles.record('dr')
  if (record.mode !== 'primary') throw new Error('b is no primary')
  // It says who it is, and serves nobody.
  const services = {} as ConstructorParameters<typeof PrimaryRole>[0]['services']
  const hooks = new PrimaryRole({ ...b.replication.context, kind: 'dr', services, standbys: () => [] })
  const overtaker = hooks.who()
  const asked: ((told: Told) => void)[] = []
  const dataPlane = { tell: () => new Promise<Told>((resolve) => asked.push(resolve)) } as unknown as DataPlane
  const registry = { views: () => [], watch: () => () => undefined }
  const { signal } = new AbortController()
  const options = { kind: 'dr', host, roles, fences, dataPlane, record, hooks, registry, signal } as const
  const telling = [tellFormerPrimary(options), tellFormerPrimary(options)]
  await b.change('replication/dr/primary/demote')
  for (const [at, answer] of asked.entries()) answer({ isHeard: true, ...(at === 0 ? { overtaker } : {}) })
  await Promise.all(telling)
  expect(asked).toHaveLength(2)
})
