import { describe, expect, it } from 'vitest'
import { shortHash } from '../../../src/crypto/digest.js'
import { leafHash } from '../../../src/storage/trees/leaf.js'
import { Packer, unpack, unpackAll } from '../../../src/storage/sync/packed.js'
import { bytes } from '../../unit/storage/fixture.js'

const ENTRIES = [
  { key: 'logical/a', value: bytes('1') },
  { key: 'logical/ä/日本/🔑', value: bytes('names beyond ASCII') },
  { key: 'logical/empty', value: Buffer.alloc(0) },
  { key: `logical/${'long/'.repeat(200)}`, value: Buffer.alloc(70_000, 7) },
]

const packAll = (capacity: number): Buffer => {
  const packer = new Packer(capacity)
  for (const { key, value } of ENTRIES) packer.add(key, value)
  return packer.take()
}

describe('packed entries', () => {
  it.each([1, 64, 1 << 20])('packed entries unpack unchanged from a buffer of %i bytes', (capacity) => {
    expect(unpackAll(packAll(capacity))).toEqual(ENTRIES)
  })

  it('a packer starts again after its entries were taken, and does not change them', () => {
    const packer = new Packer(1024)
    packer.add('a', bytes('1'))
    const first = packer.take()
    packer.add('b', bytes('2'))
    expect(packer.bytes).toBe(10)
    expect(unpackAll(packer.take())).toEqual([{ key: 'b', value: bytes('2') }])
    expect(unpackAll(first)).toEqual([{ key: 'a', value: bytes('1') }])
    expect(packer.take()).toHaveLength(0)
  })

  it('a packed entry is the exact input of its leaf hash', () => {
    unpack(packAll(1), (key, value, entry) => expect(shortHash(entry)).toEqual(leafHash(key, value)))
  })

  it('truncated packed entries and entries with false lengths are rejected', () => {
    const packer = new Packer(64)
    packer.add('logical/a', bytes('value'))
    const packed = packer.take()
    for (let length = 1; length < packed.length; length++) {
      expect(() => unpackAll(packed.subarray(0, length)), `${length} bytes`).toThrow('damaged')
    }
    const grown = Buffer.from(packed)
    grown.writeUInt32BE(0xffffffff, 0)
    expect(() => unpackAll(grown)).toThrow('damaged')
  })
})
