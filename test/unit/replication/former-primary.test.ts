import { afterEach, expect, test } from 'vitest'
import { LogicalError } from '../../../src/logical/errors.js'
import { ControlWorld, joinSet, promoteDr, yieldTo } from '../../support/control-world.js'
import { until } from '../../support/until.js'

/** A primary that took over tells the former one, until that has joined it. */

const world = new ControlWorld()

afterEach(() => world.stop())

test('a former primary that has joined is forgotten, also where that could not be written at once', async () => {
  const a = await world.start('a')
  const b = await world.start('b')
  await a.change('replication/dr/primary/enable')
  await joinSet(b, 'dr', a, 'b')
  await promoteDr(b)
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
