import { afterEach, expect, test } from 'vitest'
import { LOCAL_KEY } from '../../support/control-cluster.js'
import { ControlWorld, joinSet, promoteDr, untilStreaming, yieldTo } from '../../support/control-world.js'

/** A performance secondary that is lost, and its DR copy. */

const world = new ControlWorld()

afterEach(() => world.stop())

test('what the performance primary still has is not listed as lost with its secondary', async () => {
  const a = await world.start('a')
  const c = await world.start('c')
  const d = await world.start('d')
  await a.change('replication/performance/primary/enable')
  await joinSet(c, 'performance', a, 'c')
  await c.change('replication/dr/primary/enable')
  await joinSet(d, 'dr', c, 'd')
  d.network.down()
  await a.writeValue('logical/m1/shared', 'on the primary')
  await untilStreaming(c, 'performance', a)
  await c.writeValue(LOCAL_KEY, 'on c alone')
  await promoteDr(d)
  d.network.isDown = false
  await untilStreaming(d, 'performance', a)
  await yieldTo(c, d, 'c')
  const entries = (await c.replication.losses()).flatMap((loss) => loss.entries)
  expect(entries.map(({ path }) => path)).toEqual([LOCAL_KEY])
  expect(d.readValue('logical/m1/shared')).toBe('on the primary')
})
