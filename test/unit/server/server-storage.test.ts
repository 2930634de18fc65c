import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createDirectoryStorage } from '../../../src/server/data/server-storage.js'

/** A server in this process leaves the same files on disk as a separate process that ended in the same way. */
let directory: string

beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'understudy-test-'))
})

afterEach(() => rmSync(directory, { recursive: true, force: true }))

const isThere = (name: string): boolean => existsSync(path.join(directory, name))

it('a stopped server seals its files, and a killed one does not', async () => {
  const storage = createDirectoryStorage(directory)
  const stopped = await storage.open()
  await stopped.close()
  expect(isThere('generation-1/files.sha256')).toBe(true)
  const killed = await storage.open()
  storage.kill()
  // The rest of a killed server ends by itself.
  await killed.close().catch(() => undefined)
  await storage.release()
  expect(isThere('generation-1/files.sha256')).toBe(false)
  await (await storage.open()).close()
})

it('the next server removes a generation that a killed one had begun', async () => {
  const storage = createDirectoryStorage(directory)
  const source = await storage.open()
  const replaced = source.replace(async (fresh) => {
    storage.kill()
    await fresh.batch().write({ isDurable: true })
  })
  await expect(replaced).rejects.toThrow('the storage was closed')
  await storage.release()
  expect(isThere('generation-2')).toBe(true)
  const next = await storage.open()
  expect(next.generation).toBe(1)
  expect(isThere('generation-2')).toBe(false)
  await next.close()
})
