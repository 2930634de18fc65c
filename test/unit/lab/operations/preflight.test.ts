import { expect, it } from 'vitest'
import { failOver } from '../../../../src/lab/operations/failover.js'
import { switchOver } from '../../../../src/lab/operations/operations.js'
import { promoteCluster } from '../../../../src/lab/operations/promotion.js'
import { Runbook } from '../../../../src/lab/operations/runbook.js'
import { parseStatus, type ReplicationStatus } from '../../../../src/lab/requests/replication-status.js'
import { ManualClock } from '../../../support/manual-clock.js'

/** A runbook for a primary A and its DR secondary B, which is ahead of A. */
class AheadRunbook extends Runbook {
  override async status(name: string): Promise<ReplicationStatus> {
    const set = { cluster_id: 'set', primary_cluster_addr: 'https://a:8201' }
    if (name === 'A') return parseStatus('dr', { ...set, mode: 'primary', known_secondaries: ['dr-b'] })
    const ahead = { state: 'idle', connection_state: 'shutdown', known_primary_cluster_addrs: ['https://a:8201'] }
    return parseStatus('dr', { ...set, ...ahead, mode: 'secondary', secondary_id: 'dr-b' })
  }
}

it.each([
  ['failover', (book: Runbook) => failOver(book, { lost: 'A', to: 'B', isForced: false, acceptLoss: 'any' })],
  ['switchover', (book: Runbook) => switchOver(book, 'A', 'B')],
  ['promote', (book: Runbook) => promoteCluster(book, 'B', 'dr', false)],
] as const)('%s to a secondary that is ahead fails at once, and the error states how to continue', async (_, run) => {
  const said: string[] = []
  const keys = { rootToken: '', unsealKeys: [], threshold: 1 }
  const clusters = ['A', 'B'].map((name) => ({ ...keys, name, apiAddress: `http://${name}` }))
  const book = new AheadRunbook(
    { name: 'default', clusters },
    {
      clock: new ManualClock(),
      timeoutMs: 0,
      onProgress: (text) => void said.push(text),
      rootTokenOf: async () => '',
    },
  )
  await expect(run(book)).rejects.toThrow(
    /^B is ahead of its DR primary, .*"force" discards the extra entries; promote keeps them \("understudy promote B --force.*"\)$/,
  )
  expect(said).toEqual([])
})
