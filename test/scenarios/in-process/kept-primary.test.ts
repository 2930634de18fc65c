import { expect, it } from 'vitest'
import { startLab, systemClock, waitFor } from '../../../src/index.js'

/** Both clusters of a DR pair are primaries, and the operator keeps the former one. */

const WORD = { word: 'kept' }
const TIMEOUT_MS = 20_000

it.each([1, 2])(
  'a performance secondary replicates again after %i promotions of its DR copy are taken back',
  async (times) => {
    await using lab = await startLab('four')
    const { A, C, D } = lab
    for (let count = 0; count < times; count++) {
      await lab.failover('C', 'D', { force: true })
      const findCut = async () => {
        const { state, connection_state: connection } = await D.status('performance')
        return state === 'stream-wals' && connection === 'ready' ? undefined : `it is ${state}, ${connection}`
      }
      await waitFor(systemClock, 'D to replace C at A', findCut, TIMEOUT_MS)
      await lab.rejoin('D', 'C')
      await lab.converged()
    }
    await A.client.write('sys/mounts/kept', { type: 'kv', options: { version: '1' } })
    await A.client.write('kept/it', WORD)
    await lab.converged()
    expect((await C.client.read('kept/it')).data).toEqual(WORD)
  },
)
