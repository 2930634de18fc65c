import fc from 'fast-check'
import { gunzipSync, gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { readTar, TAR_END, tarFile } from '../../../src/base/tar.js'
import { readSnapshot, verifySnapshot, writeSnapshot } from '../../../src/storage/store/snapshot-file.js'
import type { Entry } from '../../../src/storage/engine/engine.js'

const META = { clusterId: 'id', clusterName: 'A', index: 7 }

const bytesOf = async (pieces: AsyncIterable<Buffer>): Promise<Buffer> => {
  const all: Buffer[] = []
  for await (const piece of pieces) all.push(piece)
  return Buffer.concat(all)
}

async function* chunks<T>(...items: T[]): AsyncGenerator<T> {
  yield* items
}

const write = (entries: readonly Entry[], seal = (sums: Buffer) => Buffer.from(`sealed ${sums.length}`)) =>
  bytesOf(writeSnapshot({ meta: META, entries: chunks(entries), seal, timeMs: 0 }))

const read = async (file: Buffer): Promise<Entry[]> => {
  const all: Entry[] = []
  for await (const entries of readSnapshot(file)) all.push(...entries)
  return all
}

const ENTRIES = [
  { key: 'core/keyring', value: Buffer.from('ring') },
  { key: 'logical/é', value: Buffer.alloc(0) },
  { key: 'logical/big', value: Buffer.alloc(3_000_000, 7) },
]

describe('a snapshot file', () => {
  it('a snapshot file contains the entries that were written', async () => {
    const file = await write(ENTRIES)
    const { meta, sums, sealedSums } = await verifySnapshot(file)
    expect(meta).toMatchObject(META)
    expect(sealedSums.toString()).toBe(`sealed ${sums.length}`)
    const found = await read(file)
    expect(found.map(({ key }) => key)).toEqual(ENTRIES.map(({ key }) => key))
    for (const [at, { value }] of found.entries()) expect(ENTRIES[at]?.value.equals(value)).toBe(true)
  })

  it('a snapshot file ends with the sealed hashes, by which clients verify that it is complete', async () => {
    const names: string[] = []
    for await (const { name } of readTar(chunks(gunzipSync(await write(ENTRIES))), 1 << 24)) names.push(name)
    expect(names[0]).toBe('meta.json')
    expect(names.slice(-2)).toEqual(['SHA256SUMS', 'SHA256SUMS.sealed'])
  })

  it('a snapshot file is invalid if any byte is changed or its end is missing', async () => {
    const plain = gunzipSync(await write(ENTRIES.slice(0, 2)))
    const sealedAt = plain.indexOf('SHA256SUMS.sealed')
    await fc.assert(
      fc.asyncProperty(fc.nat(sealedAt - 1), fc.integer({ min: 1, max: 255 }), async (at, flip) => {
        const changed = Buffer.from(plain)
        changed.writeUInt8((changed[at] ?? 0) ^ flip, at)
        const isPadding = await read(gzipSync(changed)).then(
          (entries) => JSON.stringify(entries) === JSON.stringify(ENTRIES.slice(0, 2)),
          () => false,
        )
        const verdict = await verifySnapshot(gzipSync(changed)).then(
          () => 'good',
          (error: Error) => error.message,
        )
        if (!isPadding) expect(verdict).toMatch(/^the snapshot cannot be used: /)
      }),
      { numRuns: 150 },
    )
    for (const end of [0, 1, 511, 512, 1024, sealedAt, plain.length - TAR_END.length - 512]) {
      await expect(verifySnapshot(gzipSync(plain.subarray(0, end)))).rejects.toThrow('the snapshot cannot be used')
    }
  })

  it('a file of another origin is no valid snapshot', async () => {
    const archive = gzipSync(Buffer.concat([tarFile({ name: 'meta.json', content: Buffer.from('{}') }, 0), TAR_END]))
    await expect(verifySnapshot(archive)).rejects.toThrow('it is incomplete')
    await expect(verifySnapshot(Buffer.from('text'))).rejects.toThrow('the snapshot cannot be used')
  })

  it('a snapshot file stops and closes its source if its reader goes away', async () => {
    let isClosed = false
    async function* endless(): AsyncGenerator<Entry[]> {
      try {
        for (;;) yield [{ key: 'logical/x', value: Buffer.alloc(100_000) }]
      } finally {
        isClosed = true
      }
    }
    for await (const _ of writeSnapshot({ meta: META, entries: endless(), seal: (sums) => sums, timeMs: 0 })) break
    await expect.poll(() => isClosed).toBe(true)
  })

  it('a snapshot file fails for its reader if its source fails', async () => {
    async function* failing(): AsyncGenerator<Entry[]> {
      yield ENTRIES
      throw new Error('the storage is gone')
    }
    const file = writeSnapshot({ meta: META, entries: failing(), seal: (sums) => sums, timeMs: 0 })
    await expect(bytesOf(file)).rejects.toThrow('the storage is gone')
  })
})
