import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { silentLog } from '../../../src/base/log.js'
import { ManualClock } from '../../support/manual-clock.js'
import { sha256Hex } from '../../../src/crypto/digest.js'
import { Barrier } from '../../../src/storage/barrier/barrier.js'
import type { Engine } from '../../../src/storage/engine/engine.js'
import { openGenerations } from '../../../src/storage/engine/generations.js'
import {
  listStored,
  openForInspection,
  type Verification,
  verifyStored,
} from '../../../src/storage/inspection/inspect.js'
import { walKey } from '../../../src/storage/keys/raw-keys.js'
import { openStore } from '../../support/open-store.js'
import { bytes } from '../../unit/storage/fixture.js'

const ROOT = Buffer.alloc(32, 1)
let path: string

beforeEach(async () => {
  path = await mkdtemp(join(tmpdir(), 'understudy-inspect-'))
  const source = await openGenerations(path, silentLog)
  const clock = new ManualClock()
  const store = await openStore({ engine: source.engine, clock })
  const barrier = new Barrier({ store, clock })
  await barrier.initialize(ROOT)
  barrier.unseal(ROOT)
  for (const key of ['logical/a', 'sys/token/t', 'core/replication/announced/x']) {
    await barrier.write((tx) => tx.put(key, bytes(`value of ${key}`)))
  }
  await store.close()
  await source.close()
})

afterEach(() => rm(path, { recursive: true, force: true }))

const inspect = async <T>(fn: (engine: Engine) => Promise<T>): Promise<T> => {
  for await (const { generation, isLive, engine } of openForInspection(path)) {
    expect([generation, isLive]).toEqual([1, true])
    return await fn(engine)
  }
  throw new Error('no generation')
}

const flipBit = (key: string, at: number) =>
  inspect(async (engine) => {
    const value = Buffer.from(engine.get(key) ?? '')
    value[at] = (value[at] ?? 0) ^ 1
    const batch = engine.batch()
    batch.put(key, value)
    await batch.write({ isDurable: true })
  })

const verify = (rootKey?: Buffer): Promise<Verification> => inspect((engine) => verifyStored(engine, rootKey))

describe('inspection of a stopped data directory', () => {
  it('inspection lists category, key, length and hash of every stored value', async () => {
    const found = await inspect(async (engine) => {
      const records = []
      for await (const record of listStored(engine)) {
        expect(record.sha256).toBe(sha256Hex(engine.get(`d${record.key}`) ?? ''))
        records.push([record.category, record.key, record.valueBytes])
      }
      return records
    })
    expect(found).toEqual([
      ['replicated', 'core/keyring', expect.any(Number)],
      ['ignored', 'core/replication/announced/x', 37],
      ['replicated', 'logical/a', 18 + 33],
      ['local', 'sys/token/t', 20 + 33],
    ])
  })

  it('inspection reports undamaged data as sound', async () => {
    expect(await verify(ROOT)).toEqual({
      isSound: true,
      logProblem: undefined,
      damage: [],
      firstIndex: 1,
      lastIndex: 3,
      corruptPages: { replicated: new Map(), local: new Map() },
      values: { opened: 2, damaged: [] },
    })
    expect((await verify()).values).toBeUndefined()
    await expect(verify(Buffer.alloc(32, 2))).rejects.toMatchObject({ code: 'invalid-request' })
  })

  it('inspection finds a damaged value by its tree and its authentication tag', async () => {
    await flipBit('dlogical/a', 20)
    const found = await verify(ROOT)
    expect([found.isSound, found.corruptPages.replicated.size, found.values?.damaged]).toEqual([
      false,
      1,
      ['logical/a'],
    ])
  })

  it('inspection finds a damaged log', async () => {
    await flipBit(walKey(2), 30)
    const found = await verify()
    expect([found.isSound, found.logProblem]).toEqual([false, expect.stringContaining('broken at index 2')])
  })

  it('inspection rejects a directory without data', async () => {
    await expect(openForInspection(tmpdir()).next()).rejects.toMatchObject({ code: 'not-found' })
  })
})
