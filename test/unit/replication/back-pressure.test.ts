import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterEach, expect, test } from 'vitest'
import { LevelEngine } from '../../../src/storage/engine/level-engine.js'
import { openStore, pair, put, stopAll } from '../../support/replication-fixture.js'
import { until } from '../../support/until.js'

const directories: string[] = []

afterEach(async () => {
  await stopAll()
  for (const directory of directories.splice(0)) await rm(directory, { recursive: true, force: true })
})

const openLevel = async (): Promise<LevelEngine> => {
  const directory = await mkdtemp(join(tmpdir(), 'replication-'))
  directories.push(directory)
  return LevelEngine.open({ directory, createIfMissing: true })
}

setFlagsFromString('--expose-gc')
const collect: () => void = runInNewContext('gc')

/** Bytes held by objects and buffers of this process. */
const heldBytes = (): number => {
  collect()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

const MIB = 1024 * 1024

test('100 MB written while a secondary does not read cost less than 64 MiB, and arrive afterwards', async () => {
  const a = await openStore(await openLevel())
  const b = await openStore(await openLevel())
  let release = (): void => undefined
  let isHeld = false
  const { secondary } = await pair('dr', a, b, {
    prepare: (follower) => {
      follower.onState = async (state) => {
        if (state !== 'apply' || isHeld) return
        isHeld = true
        await new Promise<void>((resolve) => {
          release = resolve
        })
      }
    },
  })
  await secondary.caughtUp(a, 'dr')
  await put(a, 'logical/x/first', 'x')
  await until(() => isHeld)
  const before = heldBytes()
  for (let i = 0; i < 1600; i++) await put(a, `logical/x/${i % 8}`, Buffer.alloc(64 * 1024, i))
  expect(heldBytes() - before).toBeLessThan(64 * MIB)
  // The link is as live as ever while the stream waits.
  const beat = secondary.follower.primary?.lastHeartbeatMs ?? 0
  await until(() => (secondary.follower.primary?.lastHeartbeatMs ?? 0) > beat)
  release()
  await secondary.caughtUp(a, 'dr')
})
