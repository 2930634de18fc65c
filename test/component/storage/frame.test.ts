import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeFrame, encodeEntry, encodeFrame, epochOf, parseFrameAtOnce } from '../../../src/storage/log/frame.js'
import type { WalOperation } from '../../../src/storage/keys/replicable.js'

const hash20 = fc.uint8Array({ minLength: 20, maxLength: 20 }).map((array) => Buffer.from(array))
const value = fc.uint8Array({ maxLength: 50 }).map((array) => Buffer.from(array))
const category = fc.constantFrom('replicated' as const, 'local' as const)
const operation: fc.Arbitrary<WalOperation> = fc.oneof(
  fc.record({
    key: fc.string({ unit: 'grapheme', minLength: 1 }),
    category,
    value: fc.option(value, { nil: undefined }),
    delta: hash20,
  }),
  fc.record({
    key: fc.constant(''),
    category,
    value: fc.constant(undefined),
    delta: hash20,
    filtered: fc.record({ subPage: fc.nat(65_535) }),
  }),
)
const transactions = fc.array(fc.array(operation, { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 6 })

const frameOf = (entries: readonly (readonly WalOperation[])[], firstIndex = 1) =>
  encodeFrame(
    {
      firstIndex,
      previousHash: Buffer.alloc(20, 3),
      epoch: 'e-1',
      timeMs: 1_700_000_000_123,
      hasReplicated: true,
      hasLocal: false,
    },
    entries.map((operations) => encodeEntry(operations)),
  )

describe('a log frame', () => {
  it('a log frame decodes to what was encoded', () => {
    fc.assert(
      fc.property(transactions, fc.nat({ max: 2 ** 47 }), (entries, index) => {
        const frame = frameOf(entries, index + 1)
        const parsed = parseFrameAtOnce(Buffer.from(frame.bytes))
        expect(parsed).toEqual(frame)
        if (parsed === undefined) return
        expect([parsed.firstIndex, parsed.lastIndex]).toEqual([index + 1, index + entries.length])
        expect([parsed.timeMs, epochOf(parsed)]).toEqual([1_700_000_000_123, 'e-1'])
        const decoded = decodeFrame(parsed)
        expect(decoded.map(({ operations }) => operations)).toEqual(entries)
        expect(Buffer.concat(decoded.map(({ bytes }) => bytes ?? Buffer.alloc(0)))).toEqual(parsed.body)
      }),
    )
  })

  it('a log frame with a flipped bit or a truncated end is invalid', () => {
    const key = 'logical/a'
    const frame = frameOf([[{ key, category: 'replicated', value: Buffer.from('v'), delta: Buffer.alloc(20, 1) }]])
    for (let at = 0; at < frame.bytes.length; at++) {
      const flipped = Buffer.from(frame.bytes)
      flipped[at] = (flipped[at] ?? 0) ^ (1 << (at % 8))
      expect(parseFrameAtOnce(flipped), `byte ${at}`).toBeUndefined()
      expect(parseFrameAtOnce(frame.bytes.subarray(0, at)), `length ${at}`).toBeUndefined()
    }
    expect(parseFrameAtOnce(Buffer.concat([frame.bytes, Buffer.from('x')]))).toBeUndefined()
  })

  it('a log frame with false lengths in its body is invalid', () => {
    const entry = encodeEntry([{ key: 'logical/a', category: 'local', value: undefined, delta: Buffer.alloc(20) }])
    for (const [at, lie] of [
      [0, 5000],
      [4, 9],
      [29, 70],
    ] as const) {
      const lying = Buffer.from(entry)
      lying.writeUInt32BE(lie, at)
      const head = {
        firstIndex: 1,
        previousHash: Buffer.alloc(20),
        epoch: '',
        timeMs: 0,
        hasReplicated: false,
        hasLocal: true,
      }
      expect(() => decodeFrame(encodeFrame(head, [lying]))).toThrow('cannot decode log frame 1')
    }
  })
})
