import assert from 'node:assert'
import { startLab, LabError } from 'understudy-lab'
const lab = await startLab('dr', { seed: 1 })
try {
  await lab.A.client.write('sys/mounts/kv', { type: 'kv' })
  await lab.converged()
  await assert.rejects(startLab('nope'), LabError)
} finally {
  await lab.close()
}
console.log('ok')
