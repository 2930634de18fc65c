import { expect, it } from 'vitest'
import { failOver } from '../../../../src/lab/operations/failover.js'
import { switchOver } from '../../../../src/lab/operations/operations.js'
import { promoteCluster } from '../../../../src/lab/operations/promotion.js'
import type { Reader } from '../../../../src/lab/operations/readers.js'
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

/** A runbook for a primary A that is down, and its DR secondary B. */
class LostRunbook extends Runbook {
  override async status(name: string): Promise<ReplicationStatus> {
    if (name === 'A') throw new Error('connect ECONNREFUSED')
    return parseStatus('dr', { mode: 'secondary', cluster_id: 'set', primary_cluster_addr: 'https://a:8201' })
  }
  override expectedLoss = async () => ({ entries: 0, isExact: false, silentSeconds: null })
}

const keys = { rootToken: '', unsealKeys: [], threshold: 1 }
const clusters = ['A', 'B'].map((name) => ({ ...keys, name, apiAddress: `http://${name}` }))
const options = {
  clock: new ManualClock(),
  timeoutMs: 0,
  onProgress: () => undefined,
  rootTokenOf: async () => '',
}

it.each([
  ['command', /Start A again, or pass --accept-loss any$/],
  ['library', /Start A again, or pass \{ acceptLoss: 'any' \}$/],
  ['page', /Start A again, or select "Accept any loss"$/],
] as const)('for a %s user, the error about a loss names the option that accepts it', async (reader, text) => {
  const book = new LostRunbook({ name: 'default', clusters }, { ...options, reader })
  await expect(failOver(book, { lost: 'A', to: 'B', isForced: false, acceptLoss: 0 })).rejects.toThrow(text)
})

it('a message names an operation and its options as its reader calls them', () => {
  const clusterNames = ['B', 'A'] as const
  const operations = [
    { verb: 'rejoin', clusters: clusterNames },
    { verb: 'failover', clusters: clusterNames },
    { verb: 'promote', clusters: ['B'], isForced: true, primary: 'A' },
    { verb: 'rejoin', clusters: clusterNames, kind: 'performance' },
  ] as const
  const linesFor = (reader: Reader) => {
    const book = new Runbook({ name: 'dr', clusters }, { ...options, reader })
    return [...operations.map((operation) => book.line(operation)), book.optionNames.force]
  }
  expect(linesFor('library').slice(0, 3)).toEqual([
    `lab.rejoin('B', 'A')`,
    `lab.failover('B', 'A')`,
    `lab.failover('A', 'B', { force: true })`,
  ])
  expect(linesFor('library').at(-1)).toBe('{ force: true }')
  expect(linesFor('command')).toEqual([
    'understudy rejoin B A --name dr',
    'understudy failover B A --name dr',
    'understudy promote B --force --name dr',
    'understudy rejoin B A --kind performance --name dr',
    '--force',
  ])
})

it.each([
  ['failover', (book: Runbook) => failOver(book, { lost: 'A', to: 'B', isForced: false, acceptLoss: 'any' })],
  ['switchover', (book: Runbook) => switchOver(book, 'A', 'B')],
  ['promote', (book: Runbook) => promoteCluster(book, 'B', 'dr', false)],
] as const)('%s to a secondary that is ahead fails at once, and the error states how to continue', async (_, run) => {
  const said: string[] = []
  const onProgress = (text: string) => void said.push(text)
  const book = new AheadRunbook({ name: 'default', clusters }, { ...options, onProgress })
  await expect(run(book)).rejects.toThrow(
    /^B is ahead of its DR primary, .*"force" discards the extra entries; promote keeps them \("understudy promote B --force.*"\)$/,
  )
  expect(said).toEqual([])
})

it('the error about a secondary that is ahead names its primary to library users', async () => {
  const book = new AheadRunbook({ name: 'default', clusters }, { ...options, reader: 'library' })
  await expect(switchOver(book, 'A', 'B')).rejects.toThrow(`("lab.failover('A', 'B', { force: true })")`)
})
