import { describe, expect, it } from 'vitest'
import {
  decodeBatch,
  encodeBatch,
  LOG_START,
  positionOf,
  previousHashOf,
} from '../../../src/storage/shared-log/raw-batch.js'

const operations = [
  { key: 'dlogical/ключ', value: Buffer.from([0, 1, 255]) },
  { key: 'empty', value: Buffer.alloc(0) },
  { key: 'gone', value: undefined },
  { key: '', value: Buffer.from('no name') },
]

describe('an entry of the shared log', () => {
  it('an entry of the shared log holds the operations of a batch in order', () => {
    expect(decodeBatch({ index: 1, bytes: encodeBatch(LOG_START.hash, operations) })).toEqual(operations)
    expect(decodeBatch({ index: 1, bytes: encodeBatch(LOG_START.hash, []) })).toEqual([])
  })

  it('an entry of the shared log names its predecessor', () => {
    const first = { index: 1, bytes: encodeBatch(LOG_START.hash, operations) }
    expect(previousHashOf(encodeBatch(positionOf(first).hash, []))).toEqual(positionOf(first).hash)
  })

  it('an entry of the shared log with a changed bit or a missing end is rejected', () => {
    const bytes = encodeBatch(LOG_START.hash, operations)
    for (let at = 0; at < bytes.length; at++) {
      const spoilt = Buffer.from(bytes)
      spoilt[at] = (spoilt[at] ?? 0) ^ 4
      expect(() => decodeBatch({ index: 7, bytes: spoilt }), `byte ${at}`).toThrow(
        'cannot read entry 7 of the shared log: it is damaged',
      )
      expect(() => decodeBatch({ index: 7, bytes: bytes.subarray(0, at) }), `${at} bytes`).toThrow('is damaged')
    }
  })
})
