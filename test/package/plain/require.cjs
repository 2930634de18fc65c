const assert = require('node:assert')
const { startLab, LabError } = require('understudy-lab')
const main = async () => {
  const lab = await startLab('dr')
  try {
    await lab.A.client.write('sys/mounts/kv', { type: 'kv' })
    await lab.converged()
    const esm = await import('understudy-lab')
    assert.strictEqual(esm.LabError, LabError)
    await assert.rejects(startLab('nope'), LabError)
  } finally {
    await lab.close()
  }
  console.log('ok')
}
void main()
