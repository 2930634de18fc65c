const { startLab, LabError } = require('understudy-lab')

let lab
beforeAll(async () => {
  lab = await startLab('dr')
}, 120_000)
afterAll(() => lab.close(), 120_000)

test('a lab in Jest fails over', async () => {
  await lab.A.client.write('sys/mounts/kv', { type: 'kv', options: { version: '1' } })
  await lab.A.client.write('kv/greeting', { word: 'hello' })
  await lab.converged()
  await lab.A.crash()
  await lab.failover('A', 'B', { acceptLoss: 'any' })
  expect((await lab.B.client.read('kv/greeting')).data).toEqual({ word: 'hello' })
  await expect(startLab('nope')).rejects.toThrow(LabError)
}, 120_000)
