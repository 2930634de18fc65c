import { expect, it } from 'vitest'
import { startLab } from '../../../src/index.js'
import { joinSecondary } from '../../../src/lab/wiring/join.js'

it('a lab joins a cluster whose earlier attempt took the ID or has already joined', async () => {
  await using lab = await startLab('dr')
  await using other = await startLab('single')
  const link = { kind: 'dr', primary: 'A', secondary: 'B' } as const
  await lab.B.stop()
  expect((await lab.A.status('dr')).known_secondaries).toEqual(['dr-b'])

  await joinSecondary(lab.A.client, other.A.client, link)
  const { mode } = await other.A.status('dr')
  expect(['bootstrapping', 'secondary']).toContain(mode)
  const before = (await lab.A.status('dr')).known_secondaries
  await joinSecondary(lab.A.client, other.A.client, link)
  expect((await lab.A.status('dr')).known_secondaries).toEqual(before)
})
