import { execFileSync } from 'node:child_process'
import { constants, mkdtempSync, rmSync } from 'node:fs'
import { type FileHandle, open, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { errorsOf } from '../../src/client/api-client.js'
import { type Cluster, Clusters } from '../support/clusters.js'

/**
 * Audit devices that fail during operation: a rejected request is not executed, and an executed request reports the
 * failure.
 */
const clusters = new Clusters()
const directory = mkdtempSync(path.join(tmpdir(), 'understudy-audit-'))
const pipe = path.join(directory, 'pipe')
const WRITES = 120
/** Fewer elements than a body may have, and more than an entry shows individually. */
const LISTED = 20_000
let A: Cluster

beforeAll(async () => {
  A = await clusters.add('A')
  await A.client.write('sys/mounts/kv', { type: 'kv' })
  execFileSync('mkfifo', [pipe])
})

afterAll(async () => {
  await clusters.close()
  rmSync(directory, { recursive: true, force: true })
})

const openReader = (): Promise<FileHandle> => open(pipe, constants.O_RDONLY | constants.O_NONBLOCK)

const drain = async (reader: FileHandle): Promise<void> => {
  const bytes = Buffer.alloc(1 << 16)
  while ((await reader.read(bytes, 0, bytes.length, null).catch(() => ({ bytesRead: 0 }))).bytesRead > 0);
}

/** Reads a pipe until it is stopped. */
const readAll = (reader: FileHandle): (() => Promise<void>) => {
  let isDone = false
  const ended = (async () => {
    while (!isDone) {
      await drain(reader)
      await new Promise((resolve) => setImmediate(resolve))
    }
    await reader.close()
  })()
  return () => {
    isDone = true
    return ended
  }
}

it('a server executes no request that it rejects because no audit device can log it', async () => {
  let stop = readAll(await openReader())
  await A.client.write('sys/audit/pipe', { type: 'file', options: { file_path: pipe } })
  const answers = new Map<string, { status: number; text: string }>()
  for (let n = 0; n < WRITES; n++) {
    // The reader connects and disconnects independently of the requests.
    if (n % 7 === 3) await stop()
    const answer = A.client.send('PUT', `kv/w${n}`, { body: { value: n } })
    if (n % 7 === 5) stop = readAll(await openReader())
    const told = await answer
    answers.set(`w${n}`, { status: told.status, text: errorsOf(told).join() })
  }
  await stop()
  stop = readAll(await openReader())
  const stored = new Set(((await A.client.send('LIST', 'kv')).json?.data as { keys?: string[] })?.keys ?? [])
  await A.client.delete('sys/audit/pipe')
  await stop()
  const seen: Record<string, number> = {}
  for (const [key, { status, text }] of answers) {
    const kind = status === 204 ? 'done' : text
    seen[kind] = (seen[kind] ?? 0) + 1
    if (status === 204 || text.includes('was executed')) expect(stored, `${key}: ${status} ${text}`).toContain(key)
    else expect([status, text, stored.has(key)], key).toEqual([500, 'internal error', false])
  }
  console.log(JSON.stringify(seen))
  expect(seen.done).toBeGreaterThan(0)
  expect(seen['internal error']).toBeGreaterThan(0)
})

/** Disconnects after the first read. */
const readOnce = async (reader: FileHandle): Promise<void> => {
  const bytes = Buffer.alloc(1 << 16)
  while ((await reader.read(bytes, 0, bytes.length, null).catch(() => ({ bytesRead: 0 }))).bytesRead === 0) {
    await new Promise((resolve) => setImmediate(resolve))
  }
  await reader.close()
}

it('an error tells the client that the request was executed if its response cannot be logged', async () => {
  let stop = readAll(await openReader())
  await A.client.write('sys/audit/pipe', { type: 'file', options: { file_path: pipe } })
  await stop()
  let text = ''
  let n = 0
  for (; !text.includes('was executed'); n++) {
    const left = readOnce(await openReader())
    const told = await A.client.send('PUT', `kv/once-${n}`, { body: { value: n } })
    await left
    text = errorsOf(told).join()
    if (told.status !== 204) expect(told.status).toBe(500)
  }
  console.log(`${n} tries`)
  stop = readAll(await openReader())
  expect((await A.client.read(`kv/once-${n - 1}`)).data).toEqual({ value: n - 1 })
  await A.client.delete('sys/audit/pipe')
  await stop()
})

it('the audit log writes little for unauthenticated requests, and accepts the largest body', async () => {
  const file = path.join(directory, 'audit.log')
  await A.client.write('sys/audit/file', { type: 'file', options: { file_path: file } })
  const strings = (bytes: number): Buffer => Buffer.from(`{"list":[${'"",'.repeat(Math.floor((bytes - 12) / 3))}""]}`)
  const before = (await readFile(file)).length
  const sent = await A.anonymous.send('POST', 'auth/token/create', { raw: strings(30_000) })
  expect(sent.status).toBe(403)
  expect((await readFile(file)).length - before).toBeLessThan(4_000)
  const large = await A.client.send('PUT', 'kv/large', { raw: Buffer.from(`{"value":"${'x'.repeat(16 << 20)}"}`) })
  expect(large.status).toBe(204)
  const many = await A.client.send('PUT', 'kv/many', { raw: strings(LISTED * 3) })
  expect(many.status).toBe(204)
  expect((await A.client.send('GET', 'kv/many')).status).toBe(200)
  expect((await readFile(file)).length - before).toBeLessThan(20_000)
  const entries = (await readFile(file, 'utf8'))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  const last = entries.find((entry) => entry.type === 'request' && entry.request.path === 'kv/many')
  expect(last.request.data_omitted).toEqual({
    sha256: expect.stringMatching(/^hmac-sha256:/),
    bytes: expect.any(Number),
  })
  await A.client.delete('sys/audit/file')
})
