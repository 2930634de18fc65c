import { describe, expect, it } from 'vitest'
import { createKvV2 } from '../../../src/secrets/kv/backend.js'
import { type KeyMetadata, newMetadata } from '../../../src/secrets/kv/metadata.js'
import { decodeMetadata, encodeMetadata } from '../../../src/secrets/kv/stored-metadata.js'
import { BackendHarness, dataOf } from '../../support/backend-harness.js'

const FULL: KeyMetadata = {
  createdMs: 1,
  updatedMs: 2,
  currentVersion: 12,
  oldestVersion: 9,
  maxVersions: 4,
  casRequired: true,
  deleteVersionAfterSeconds: 60,
  customMetadata: { owner: 'x' },
  versions: {
    9: { createdMs: 3 },
    10: { createdMs: 4, deletedMs: 5 },
    11: { createdMs: 6, destroyed: true },
    12: { createdMs: 7, deletedMs: 8, destroyed: true },
  },
}

describe('the stored metadata of a secret', () => {
  it('stored KV metadata decodes to what was encoded', () => {
    for (const metadata of [FULL, newMetadata(1)]) expect(decodeMetadata(encodeMetadata(metadata))).toEqual(metadata)
  })

  it('stored KV metadata is a list without field names', () => {
    expect(JSON.parse(encodeMetadata(newMetadata(7)).toString())).toEqual([1, 7, 7, 0, 0, 0, false, 0, null, []])
  })

  it('KV metadata of an earlier version is read, and converted with the next change', async () => {
    const kv = new BackendHarness(createKvV2)
    await kv.storage.write((tx) => tx.put('metadata/a', Buffer.from(JSON.stringify(FULL))))
    expect(dataOf(await kv.read('metadata/a'))).toMatchObject({ current_version: 12, oldest_version: 9 })
    await kv.write('data/a', { data: { k: '1' }, options: { cas: 12 } })
    const stored = kv.storage.get('metadata/a') ?? Buffer.alloc(0)
    expect(JSON.parse(stored.toString())).toBeInstanceOf(Array)
    expect(decodeMetadata(stored)).toMatchObject({ createdMs: 1, currentVersion: 13, customMetadata: { owner: 'x' } })
  })

  it('KV metadata of a later version is rejected', () => {
    expect(() => decodeMetadata(Buffer.from('[2]'))).toThrow('has format 2 of a later version')
  })
})
