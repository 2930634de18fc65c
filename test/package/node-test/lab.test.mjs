import { test, after, before } from 'node:test'
import { startLab } from 'understudy-lab'
let lab
before(async () => {
  lab = await startLab('dr')
})
after(() => lab.close())
test('a lab in node:test replicates', async () => {
  await lab.converged()
})
