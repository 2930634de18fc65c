import { expect, test } from 'vitest'
import { measureProgress } from '../../../src/replication/host/announced.js'
import {
  chainUpTo,
  compareEpochs,
  EPOCHS_KEPT_MAX,
  extendChain,
  findSurplus,
  selectApplied,
  isOvertakenBy,
} from '../../../src/replication/model/epoch.js'
import { decodeAnswer, encodeAnswer, encodeFailure } from '../../../src/replication/forwarding/forward-codec.js'
import { decodeRequest, encodeRequest } from '../../../src/replication/forwarding/forward-request.js'
import { readLosses, writeLoss } from '../../../src/replication/roles/losses.js'
import { collectSuffix } from '../../../src/replication/roles/lost-suffix.js'
import { type KindRecord, putRecord, readRecord, recordKey, stageOf } from '../../../src/replication/model/state.js'
import { LogicalError } from '../../../src/logical/errors.js'
import { RawNumber } from '../../../src/base/json.js'
import type { Request } from '../../../src/logical/request.js'
import { LIMITS } from '../../../src/base/limits.js'
import type { Frame } from '../../../src/storage/keys/replicable.js'
import { categoryOf } from '../../../src/storage/keys/key-families.js'
import { encodeEntry, encodeFrame } from '../../../src/storage/log/frame.js'
import { SHORT_HASH_BYTES } from '../../../src/crypto/digest.js'
import { MemoryStorage } from '../../support/memory-storage.js'

const CREDENTIALS = {
  caCertificate: 'ca',
  certificate: 'cert',
  privateKey: 'key',
  serverName: 'rep-1',
  primaryAddresses: ['https://a:8201'],
}

const RECORDS: readonly (readonly [string, KindRecord])[] = [
  ['disabled', { mode: 'disabled' }],
  [
    'primary',
    {
      mode: 'primary',
      setId: 's',
      epochs: extendChain([], 'e1', { forkIndex: 0 }),
      ca: { name: 'rep-1', certificate: 'c', privateKey: 'k' },
      primaryClusterAddr: '',
      registrations: [],
      fenced: { epoch: 'e1', byEpoch: 'e2', sinceMs: 1, forkIndex: 4 },
      former: CREDENTIALS,
    },
  ],
  [
    'secondary',
    {
      mode: 'secondary',
      setId: 's',
      epochs: [],
      secondaryId: 'b',
      credentials: CREDENTIALS,
      hasFollowed: true,
      incarnation: 2,
    },
  ],
  ['detached', { mode: 'secondary', setId: 's', epochs: [], secondaryId: '', hasFollowed: false, incarnation: 0 }],
]

test.each(RECORDS)('a %s record is read as it was stored', async (stage, record) => {
  const storage = new MemoryStorage()
  await storage.write((tx) => putRecord(tx, 'dr', record))
  expect(readRecord(storage, 'dr')).toEqual(record)
  expect(readRecord(storage, 'performance')).toEqual({ mode: 'disabled' })
  expect(stageOf(readRecord(storage, 'dr'))).toBe(stage)
})

test('the DR record never leaves the cluster, and the performance record replicates to DR copies', () => {
  expect(categoryOf(recordKey('dr'))).toBe('ignored')
  expect(categoryOf(recordKey('performance'))).toBe('local')
})

test('epochs show descent, and both sides agree on which of two promotions applies', () => {
  const first = extendChain([], 'e1', { forkIndex: 0 })
  const second = extendChain(first, 'e2', { forkIndex: 10 })
  const rival = extendChain(first, 'e3', { forkIndex: 7 })
  expect(compareEpochs(first, first)).toBe('same')
  expect(compareEpochs(first, second)).toBe('newer')
  expect(compareEpochs(second, first)).toBe('older')
  expect(compareEpochs(second, rival)).toBe('diverged')
  expect(isOvertakenBy(second, rival)).toBe(true)
  expect(isOvertakenBy(rival, second)).toBe(false)
  expect(isOvertakenBy(rival, extendChain(second, 'e0', { forkIndex: 1 }))).toBe(true)
  expect(compareEpochs([], first)).toBe('newer')
})

test('an epoch chain shows the part of a log that another chain does not build on', () => {
  const parent = extendChain([], 'p', { forkIndex: 0 })
  const ahead = extendChain(parent, 'a', { forkIndex: 100, beginIndex: 40, alignedFrom: 70 })
  const behind = extendChain(parent, 'b', { forkIndex: 90, beginIndex: 95, alignedFrom: 0 })
  expect(findSurplus(parent, parent)).toBeUndefined()
  expect(findSurplus(parent, ahead), 'the parent keeps what the child built on').toEqual({ after: 100, isWhole: true })
  expect(findSurplus(behind, ahead), 'siblings: all since its own fork').toEqual({ after: 95, isWhole: true })
  expect(findSurplus(ahead, behind), 'and what the parent had in between').toEqual({ after: 30, isWhole: true })
  expect(findSurplus(ahead, parent), 'the parent itself').toEqual({ after: 40, isWhole: true })
  const early = extendChain(parent, 'c', { forkIndex: 60, beginIndex: 1 })
  expect(findSurplus(ahead, early), 'not that far back').toEqual({ after: 10, isWhole: false })
  const twice = extendChain(ahead, 'd', { forkIndex: 50, beginIndex: 50, alignedFrom: 0 })
  expect(findSurplus(twice, behind), 'over two epochs of one log').toEqual({ after: 30, isWhole: true })
  const foreign = extendChain([], 'x', { forkIndex: 0 })
  expect(findSurplus(parent, foreign)).toEqual({ after: undefined, isWhole: false })
  expect(findSurplus(chainUpTo(twice, 'a'), behind)).toEqual({ after: 30, isWhole: true })
  expect(chainUpTo(twice, 'x')).toEqual([])
})

test('a log that was put back in time and continued is compared with a fork by hashes', () => {
  const hash = (index: number) => Buffer.alloc(20, index)
  const applied = selectApplied(Array.from({ length: 40 }, (_, n) => ({ index: 90 - n, hash: hash(90 - n) })))
  expect(applied.map(({ index }) => index)).toEqual([90, 89, 87, 83, 75, 59])
  const parent = extendChain(extendChain([], 'p', { forkIndex: 0 }), 'q', { forkIndex: 9, beginIndex: 7 })
  const child = extendChain(parent, 'a', { forkIndex: 90, beginIndex: 40, applied })
  const surplusOf = (lastShared: number) => findSurplus(parent, child, ({ index }) => index > lastShared)
  expect(surplusOf(90)).toEqual({ after: 90, isWhole: true })
  expect(surplusOf(80), 'the newest shared position that is known').toEqual({ after: 75, isWhole: true })
  expect(surplusOf(20), 'without a shared position: the whole epoch').toEqual({ after: 7, isWhole: true })
  let chain = child
  for (let n = 0; n < 8; n++) chain = extendChain(chain, `n${n}`, { forkIndex: 90, applied })
  expect(chain.filter((epoch) => epoch.applied).map(({ id }) => id)).toEqual(
    [0, 1, 2, 3, 4, 5, 6, 7].map((n) => `n${n}`),
  )
})

test('an epoch chain drops its oldest epochs', () => {
  let chain = extendChain([], 'e1', { forkIndex: 0 })
  for (let n = 2; n <= EPOCHS_KEPT_MAX + 5; n++) chain = extendChain(chain, `e${n}`, { forkIndex: n })
  expect(chain).toHaveLength(EPOCHS_KEPT_MAX)
  expect(chain[chain.length - 1]).toMatchObject({ number: EPOCHS_KEPT_MAX + 5, parent: `e${EPOCHS_KEPT_MAX + 4}` })
})

test('announced indexes are compared within their epoch', () => {
  const chain = extendChain(extendChain([], 'e1', { forkIndex: 0 }), 'e2', { forkIndex: 50 })
  const at = (epoch: string, index: number) => ({ epoch, index, hash: Buffer.alloc(20) })
  const measure = (place: Parameters<typeof measureProgress>[0], epoch: string, index: number) =>
    measureProgress(place, { epoch, index }, chain)
  expect(measure(at('e2', 7), 'e2', 9)).toEqual({ applied: 7, announced: 9, isBehindEpoch: false })
  expect(measure(at('e2', 7), 'e1', 90)).toEqual({ applied: 7, announced: 0, isBehindEpoch: false })
  expect(measure(at('e1', 90), 'e2', 9)).toEqual({ applied: 0, announced: 9, isBehindEpoch: true })
  expect(measureProgress(at('e1', 90), undefined, chain).isBehindEpoch).toBe(true)
  expect(measureProgress(undefined, undefined, chain)).toEqual({ applied: 0, announced: 0, isBehindEpoch: false })
})

test('a forwarded request keeps the text of numbers and contains no secrets', async () => {
  const request: Request = {
    id: 'r',
    operation: 'update',
    path: 'secret/a',
    namespace: { id: 'root', path: '' },
    data: { price: new RawNumber('1.50') },
    headers: { 'x-vault-token': 'hvs.secret', 'x-trace': 't' },
    remoteAddress: '10.0.0.1',
    remotePort: 5,
    clientToken: 'hvs.secret',
    wrap: undefined,
  }
  const payload = await encodeRequest(request)
  expect(payload.toString()).not.toContain('hvs.secret')
  const decoded = decodeRequest(payload)
  expect(decoded).toMatchObject({ path: 'secret/a', headers: { 'x-trace': 't' } })
  expect(decoded.data.price).toEqual(new RawNumber('1.50'))
  expect(Object.getPrototypeOf(decoded.data)).toBeNull()
})

test('a forwarded response and an error are decoded unchanged', () => {
  const response = { data: { a: [1, 'x', null] }, warnings: ['w'], status: 204 }
  expect(decodeAnswer(encodeAnswer({ index: 3, response }))).toEqual({ index: 3, response })
  expect(decodeAnswer(encodeAnswer({ index: 3, response: undefined }))).toEqual({ index: 3, response: undefined })
  const raw = { raw: { contentType: 'text/plain', body: Buffer.from([0, 255]) } }
  expect(decodeAnswer(encodeAnswer({ index: 1, response: raw })).response?.raw).toEqual(raw.raw)
  const error = new LogicalError('not-found', 'gone', { wrapped: true, data: { a: 1 } })
  expect(() => decodeAnswer(encodeFailure(1, error))).toThrow('gone')
  try {
    decodeAnswer(encodeFailure(1, error))
  } catch (caught) {
    expect(caught).toMatchObject({ code: 'not-found', wrapped: true, data: { a: 1 } })
  }
})

test('losses are listed by time, with all their entries', async () => {
  const storage = new MemoryStorage()
  const entries = Array.from({ length: 2500 }, (_, n) => ({ index: n, path: `secret/${n}`, operation: 'put' as const }))
  const loss = { epoch: 'e1', firstIndex: 0, lastIndex: 2499, reason: 'why' }
  await writeLoss(storage, '2-dr', { ...loss, epoch: 'e2', entries: [] }, [])
  await writeLoss(storage, '1-dr', { ...loss, entries }, [])
  expect(await readLosses(storage)).toEqual([
    { id: '1-dr', loss: { ...loss, entries } },
    { id: '2-dr', loss: { ...loss, epoch: 'e2', entries: [] } },
  ])
})

test('a loss record is limited, and states how many entries and frames it omits', async () => {
  const perFrame = 10_000
  const frameBytes = LIMITS.lossFrameBytesMax / 4
  const delta = Buffer.alloc(SHORT_HASH_BYTES)
  const operation = { key: 'logical/m/x', category: 'replicated', value: Buffer.alloc(0), delta } as const
  const entries = Array.from({ length: perFrame }, () => encodeEntry([operation]))
  const head = { previousHash: delta, epoch: 'e', timeMs: 0, hasReplicated: true, hasLocal: false }
  const frames = Array.from({ length: 7 }, (_, n): Frame => {
    const frame = encodeFrame({ ...head, firstIndex: n * perFrame + 1 }, entries)
    return { ...frame, bytes: Buffer.alloc(frameBytes) }
  })
  const suffix = await collectSuffix(
    {
      position: { index: 70_000, hash: Buffer.alloc(0) },
      firstIndex: 1,
      framesAfter: async (index) => frames.filter((frame) => frame.lastIndex > index).slice(0, 2),
    },
    () => true,
    5,
    [],
  )
  expect([suffix.entries.length, suffix.entries[0]?.index]).toEqual([LIMITS.lossEntriesMax, 6])
  expect(suffix).toMatchObject({ entriesBeyond: 70_000 - 5 - LIMITS.lossEntriesMax, framesBeyond: 3, isTrimmed: false })
  expect(suffix.frames).toEqual(frames.slice(0, 4))
  const storage = new MemoryStorage()
  const { frames: _, isTrimmed: __, ...lost } = suffix
  await writeLoss(storage, '1-dr', { epoch: 'e', firstIndex: 6, lastIndex: 70_000, reason: 'why', ...lost }, [])
  expect(await readLosses(storage)).toMatchObject([{ loss: { entriesBeyond: 19_995, framesBeyond: 3 } }])
})

test('the oldest loss record is removed with all its parts beyond the maximum', async () => {
  const storage = new MemoryStorage()
  const entry = { index: 1, path: 'secret/1', operation: 'put' as const }
  const frame = { bytes: Buffer.from('frame') } as Frame
  const write = (n: number) => {
    const loss = { epoch: `e${n}`, firstIndex: 1, lastIndex: 1, reason: 'why', entries: [entry] }
    return writeLoss(storage, `${100 + n}-dr`, loss, [frame])
  }
  for (let n = 0; n < LIMITS.lossesMax; n++) expect(await write(n)).toEqual([])
  expect(await write(3)).toEqual([])
  expect(await write(LIMITS.lossesMax)).toEqual(['100-dr'])
  const losses = await readLosses(storage)
  expect([losses.length, losses[0]?.loss.epoch]).toEqual([LIMITS.lossesMax, 'e1'])
  expect(await storage.keys('core/losses/100-dr/')).toEqual([])
  expect(await storage.keys('core/losses/101-dr/')).toHaveLength(3)
})
