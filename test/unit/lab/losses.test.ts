import { expect, it } from 'vitest'
import { ApiClient } from '../../../src/client/api-client.js'
import type { Exchange } from '../../../src/client/exchange.js'
import { describe as describeReports } from '../../../src/cli/commands/lab/losses.js'
import { describeLosses } from '../../../src/cli/commands/lab/status.js'
import type { AnyLab } from '../../../src/lab/model/cluster.js'
import { Runbook } from '../../../src/lab/operations/runbook.js'
import {
  askLosses,
  type ClusterLoss,
  countLost,
  describeLost,
  describeRestored,
  newLosses,
  readLossLists,
  restoredBy,
  unlistedLosses,
} from '../../../src/lab/requests/losses.js'
import { ManualClock } from '../../support/manual-clock.js'

const lossOf = (firstIndex: number, ...paths: readonly string[]): ClusterLoss => ({
  ...{
    epoch: 'e',
    firstIndex,
    lastIndex: firstIndex + paths.length - 1,
    reason: 'test',
    entriesBeyond: 0,
    framesBeyond: 0,
  },
  entries: paths.map((path, at) => ({ index: firstIndex + at, path, operation: 'put' })),
})

it('a new loss is one that the cluster did not list before', () => {
  const [old, added] = [lossOf(1, 'kv/a'), lossOf(8, 'kv/b', 'kv/c')]
  expect(newLosses([old], [old, added])).toEqual([added])
  expect(newLosses([old, added], [added])).toEqual([])
  expect(countLost(newLosses([], [old, added]))).toBe(3)
})

it('the number of lost log entries is the number on the lists, not the size of their ranges', () => {
  const twoOperations = { ...lossOf(5, 'kv/data/a', 'kv/metadata/a'), firstIndex: 5, lastIndex: 380 }
  const ofOneEntry = { ...twoOperations, entries: twoOperations.entries.map((entry) => ({ ...entry, index: 5 })) }
  expect(countLost([ofOneEntry])).toBe(1)
  const unlisted = { ...ofOneEntry, entries: [] }
  expect([countLost([unlisted]), unlistedLosses([ofOneEntry, unlisted])]).toEqual([0, [unlisted]])
  const longer = { ...ofOneEntry, entriesBeyond: 9000 }
  expect([countLost([longer]), countLost([{ ...longer, entriesBeyond: 30 }])]).toEqual([376, 31])
})

it('the description of a loss names the first paths, and none that the server hides', () => {
  expect(describeLost([lossOf(1, 'kv/a', 'kv/b')])).toBe('2 log entries (kv/a, kv/b)')
  expect(describeLost([lossOf(1, 'kv/a', 'kv/b', 'kv/c'), lossOf(8, 'kv/a', 'kv/d', 'kv/e')])).toBe(
    '6 log entries (kv/a, kv/b, kv/c and 2 more)',
  )
  expect(describeLost([lossOf(1, '', '')])).toBe('2 log entries')
})

it('the description of a loss counts the credentials that came back, by type', () => {
  const entryOf = (credential: 'token' | 'secret_id' | null) =>
    ({ index: 1, path: '', operation: 'delete', credential }) as const
  const loss = { ...lossOf(1), entries: (['token', 'secret_id', null, 'token'] as const).map(entryOf) }
  expect(describeRestored(restoredBy([loss]))).toBe('2 tokens, 1 SecretID')
  expect(describeRestored(restoredBy([lossOf(1, 'kv/a')])), 'an older server does not report them').toBe('')
})

const LISTED = { epoch: 'e', first_index: 5, last_index: 2, reason: 'r', entries: [] }
const ENTRY = { index: 5, path: 'kv/a', operation: 'put' }

/** Returns the lists that the lab reads from a response with this body. */
const readFrom = (body: unknown) =>
  readLossLists(new ApiClient({ address: 'http://127.0.0.1:8200', exchange: answering(200, body) }))

const answering =
  (status: number, body: unknown): Exchange =>
  async () => ({ status, headers: {}, bytes: Buffer.from(JSON.stringify(body)) })

/** Returns a lab whose clusters respond to every request with these bodies. */
const labOf = (answers: Readonly<Record<string, Exchange>>) => ({
  name: 'default',
  clusters: Object.entries(answers).map(([name, exchange]) => ({
    ...{ name, apiAddress: `http://${name}`, rootToken: '', unsealKeys: [], threshold: 1 },
    exchange,
  })),
})

const silent: Exchange = async () => {
  throw new Error('connect ECONNREFUSED')
}

it('the list of a server without optional fields is accepted, also if its range is unknown', async () => {
  const losses = [{ ...LISTED, entries: [ENTRY] }]
  expect(await readFrom({ losses })).toEqual({
    losses: [{ ...lossOf(5, 'kv/a'), lastIndex: 2, reason: 'r' }],
    held: [],
  })
  expect(countLost((await readFrom({ losses: [LISTED] })).losses)).toBe(0)
})

it.each([
  ['no lists', {}],
  ['a text instead of the lists', { losses: 'none' }],
  ['an empty list entry', { losses: [null] }],
  ['entries that are a text', { losses: [{ ...LISTED, entries: 'str' }] }],
  ['an empty log entry', { losses: [{ ...LISTED, entries: [null] }] }],
  ['a log entry without a position', { losses: [{ ...LISTED, entries: [{ ...ENTRY, index: 'x' }] }] }],
  ['a log entry with an unknown operation', { losses: [{ ...LISTED, entries: [{ ...ENTRY, operation: 'x' }] }] }],
  ['a position that is a text', { losses: [{ ...LISTED, first_index: 'x' }] }],
  ['a number that is negative', { losses: [{ ...LISTED, entries_beyond: -1 }] }],
  ['odd held entries', { losses: [], held: [{ ...LISTED, entries: [null] }] }],
])('a list of losses with %s is rejected', async (_, body) => {
  await expect(readFrom(body)).rejects.toThrow('the list of lost log entries has an unexpected form')
})

it('an odd list of one cluster leaves the lists of the others, and both commands state that it is unknown', async () => {
  const odd = { losses: [{ ...LISTED, entries: 'str' }] }
  const lab = labOf({
    A: answering(200, odd),
    B: answering(200, { losses: [{ ...LISTED, entries: [ENTRY] }], held: [] }),
    C: silent,
    D: answering(404, { errors: [] }),
    E: answering(503, { errors: ['Vault is sealed'] }),
  })
  const found = await askLosses(lab as unknown as AnyLab)
  const error = 'the list of lost log entries has an unexpected form'
  expect(found).toMatchObject([
    { cluster: 'A', losses: [], error },
    { cluster: 'B', losses: [{ reason: 'r' }] },
    { cluster: 'E', losses: [] },
  ])
  expect(describeLosses('default', found)).toEqual([
    `A does not report its lost log entries (${error})`,
    'B discarded 1 log entry (kv/a) that its new primary lacked: understudy losses B',
    'E does not report its lost log entries (it is sealed; to unseal it: understudy unseal E)',
  ])
  expect(describeReports(found, () => undefined)).toMatch(`A: unknown (${error})\nB: 1 log entry lost (r)\n`)
})

it('the command states the number of operations if a log entry has several', () => {
  const twoOfOne = lossOf(5, 'kv/metadata/a', 'kv/versions/a/1')
  const entries = twoOfOne.entries.map((entry) => ({ ...entry, index: 5 }))
  const report = { cluster: 'A', losses: [{ ...twoOfOne, lastIndex: 5, entries }], held: [] }
  expect(describeReports([report], () => undefined)).toMatch(/^A: 1 log entry lost \(2 operations; test\)\n/)
})

it('both commands state that a list without entries is unknown, and print no number', async () => {
  const held = [lossOf(5)]
  expect(describeLosses('default', [{ cluster: 'C', losses: [], held }])).toEqual([
    'C has no list of the log entries that its primary lost (test): understudy losses C',
  ])
  expect(describeReports([{ cluster: 'C', losses: [], held }], () => undefined)).toContain(
    'C has no list of the held log entries: test.',
  )
})

it('the command prints no number for a former primary that has not rejoined, and names the command that lists the loss', () => {
  const waiting = { cluster: 'A', losses: [], held: [], rejoin: 'understudy rejoin A B' }
  const unknown = 'the loss of the last failover is not known yet; to list it, first run: understudy rejoin A B'
  expect(describeReports([waiting], () => undefined)).toBe(`A: ${unknown}`)
  expect(describeReports([{ ...waiting, losses: [lossOf(5, 'kv/a')] }], () => undefined)).toContain(
    `A: 1 log entry lost (test), ${unknown}\n`,
  )
})

it('an operation distinguishes a cluster without losses from a cluster whose losses are unknown', async () => {
  const lab = labOf({
    old: answering(404, { errors: [] }),
    sealed: answering(503, { errors: ['Vault is sealed'] }),
    odd: answering(200, { losses: [null] }),
    none: answering(200, { losses: [], held: [] }),
    silent,
  })
  const options = { clock: new ManualClock(), timeoutMs: 0, onProgress: () => undefined, rootTokenOf: async () => '' }
  const book = new Runbook(lab, options)
  expect(await Promise.all(['old', 'none'].map((name) => book.losses(name)))).toEqual([[], []])
  for (const name of ['sealed', 'odd', 'silent']) expect(await book.losses(name), name).toBeUndefined()
})
