import { type Lab, startLab } from 'understudy-lab'

let lab: Lab<'A' | 'B'>
beforeAll(async () => {
  lab = await startLab('dr')
}, 120_000)
afterAll(() => lab.close(), 120_000)

test('a lab in ts-jest has types', async () => {
  await lab.A.client.write('sys/mounts/kv', { type: 'kv' })
  await lab.converged()
  expect(lab.A.isRunning).toBe(true)
}, 120_000)
