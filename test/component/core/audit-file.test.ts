import { execFileSync } from 'node:child_process'
import { constants } from 'node:fs'
import { type FileHandle, mkdtemp, open, readdir, readFile, readlink, rm, stat, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/base/clock.js'
import { LIMITS } from '../../../src/base/limits.js'
import { ManualClock } from '../../support/manual-clock.js'
import { FileSink } from '../../../src/core/audit/audit-file.js'
import { createAudit, sampleEntry } from '../../support/audit-samples.js'
import { refusal } from '../../support/backend-harness.js'
import { until } from '../../support/until.js'

let folder: string
let pipe: string
let reader: FileHandle | undefined

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'audit-file-'))
  pipe = join(folder, 'pipe')
  execFileSync('mkfifo', [pipe])
})

afterEach(async () => {
  await reader?.close()
  reader = undefined
  await rm(folder, { recursive: true })
})

const openReader = async (): Promise<FileHandle> => {
  reader = await open(pipe, constants.O_RDONLY | constants.O_NONBLOCK)
  return reader
}

/** Returns the content of the pipe. */
const drain = async (from: FileHandle): Promise<string> => {
  const chunks: Buffer[] = []
  const bytes = Buffer.alloc(1 << 16)
  for (;;) {
    const { bytesRead } = await from.read(bytes, 0, bytes.length, null).catch(() => ({ bytesRead: 0 }))
    if (bytesRead === 0) return Buffer.concat(chunks).toString()
    chunks.push(Buffer.from(bytes.subarray(0, bytesRead)))
  }
}

it('an audit file sink fails at once on a pipe without a reader, and writes after a reader opens it', async () => {
  const sink = new FileSink({ path: pipe, mode: undefined, clock: new ManualClock() })
  await expect(sink.append('lost\n', 'request')).rejects.toThrow('ENXIO')
  const from = await openReader()
  await sink.append('read\n', 'request')
  expect(await drain(from)).toBe('read\n')
  await from.close()
  reader = undefined
  await expect(sink.append('lost again\n', 'request')).rejects.toThrow('EPIPE')
  await sink.close()
})

it('an audit file sink times out on a full pipe, and continues with a complete line after it is drained', async () => {
  const clock = new ManualClock()
  const sink = new FileSink({ path: pipe, mode: undefined, clock })
  const from = await openReader()
  const long = `${'x'.repeat(200_000)}\n`
  const outcome = sink.append(long, 'request').catch((error: Error) => error.message)
  const next = sink.append('waits behind it\n', 'request').catch((error: Error) => error.message)
  let outcomeText = ''
  void outcome.then((text) => {
    outcomeText = String(text)
  })
  await until(() => {
    clock.advance(100)
    return outcomeText !== ''
  })
  expect(outcomeText).toContain(`within ${LIMITS.auditWriteMs} ms`)
  expect(await next).toContain(`within ${LIMITS.auditWriteMs} ms`)
  expect(long.startsWith(await drain(from))).toBe(true)
  await until(async () => {
    const taken = await sink.append('{"whole":1}\n', 'request').then(
      () => true,
      () => false,
    )
    return taken
  })
  expect((await drain(from)).split('\n')).toEqual(['', '{"whole":1}', ''])
  await sink.close()
})

it('a full pipe does not delay requests that another audit device records', async () => {
  const { audit, enable, clock, lines } = createAudit()
  const from = await openReader()
  await enable('pipe', { file_path: pipe })
  await enable('out', { file_path: 'stdout' })
  let logged = 0
  for (let n = 0; n < 300; n++) void audit.logRequest(sampleEntry()).then(() => logged++)
  await until(() => {
    clock.advance(100)
    return logged === 300
  })
  expect(lines).toHaveLength(300)
  await from.close()
  reader = undefined
  await audit.close()
})

it('an audit file sink rejects request lines and accepts response lines on a disk that is nearly full', async () => {
  const path = join(folder, 'audit.log')
  let free = LIMITS.auditHeadroomBytes
  const sink = new FileSink({ path, mode: undefined, clock: systemClock, freeBytes: async () => free })
  await sink.append('request 1\n', 'request')
  free--
  const [request, response] = await Promise.allSettled([
    sink.append('request 2\n', 'request'),
    sink.append('response 1\n', 'response'),
  ])
  expect([request?.status, response?.status]).toEqual(['rejected', 'fulfilled'])
  free++
  await sink.append('request 3\n', 'request')
  expect(await readFile(path, 'utf8')).toBe('request 1\nresponse 1\nrequest 3\n')
  await sink.close()
})

it('a request fails if its audit line cannot be written', async () => {
  const path = join(folder, 'audit.log')
  const { audit } = createAudit()
  const enabling = { name: 'a', type: 'file', description: '', isLocal: false }
  await audit.enable({ ...enabling, options: { file_path: path, mode: '0000' } })
  await rm(path)
  await symlink('/dev/full', path)
  await audit.reload()
  expect(await refusal(audit.logRequest(sampleEntry()))).toEqual(['internal', 'internal error'])
  await rm(path)
  await audit.logRequest(sampleEntry())
  await audit.close()
  expect((await readFile(path, 'utf8')).trim().split('\n')).toHaveLength(1)
})

describe('enabling an audit device', () => {
  const enable = (options: Record<string, string>) => {
    const made = createAudit()
    const enabling = made.audit.enable({ name: 'a', type: 'file', description: '', isLocal: false, options })
    return { ...made, enabling }
  }

  it('enabling an audit device writes a test line without a request', async () => {
    const path = join(folder, 'audit.log')
    const { audit, enabling } = enable({ file_path: path, prefix: '@cee: ' })
    await enabling
    await audit.close()
    const text = await readFile(path, 'utf8')
    expect(JSON.parse(text.replace(/^@cee: /, ''))).toEqual({
      time: expect.any(String),
      type: 'request',
      auth: { policy_results: { allowed: true }, token_type: 'default' },
      request: {
        id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        operation: 'update',
        namespace: { id: 'root' },
        path: 'sys/audit/test',
      },
    })
  })

  it.each([
    ['a full device', '/dev/full', 'audit backend failed test message: ENOSPC'],
    ['a directory', '.', 'sanity check failed; unable to open the audit file: EISDIR'],
    ['a pipe without a reader', 'pipe', 'sanity check failed; unable to open the audit file: ENXIO'],
  ])('enabling an audit device fails for %s, and requests still succeed', async (_, target, text) => {
    const { audit, storage, enabling } = enable({ file_path: resolve(folder, target) })
    const [code, message] = await refusal(enabling)
    expect([code, message]).toEqual(['invalid-request', expect.stringContaining(text)])
    expect([audit.isEnabled, await storage.keys('')]).toEqual([false, []])
    await audit.logRequest(sampleEntry())
  })

  it('enabling an audit device fails if standard output cannot be written', async () => {
    const { output, enabling } = enable({ file_path: 'stdout' })
    output.isBroken = true
    expect(await refusal(enabling)).toEqual(['invalid-request', 'audit backend failed test message: broken pipe'])
  })

  it('enabling an audit device fails if its directory cannot be created', async () => {
    const { enabling } = enable({ file_path: '/proc/none/audit.log' })
    const [code, message] = await refusal(enabling)
    expect([code, message]).toEqual(['invalid-request', expect.stringContaining('/proc/none')])
  })

  it('skip_test enables an audit device without a test line', async () => {
    const { audit, enabling } = enable({ file_path: '/dev/full', skip_test: 'true' })
    await enabling
    expect(await refusal(audit.logRequest(sampleEntry()))).toEqual(['internal', 'internal error'])
    await audit.close()
  })

  it('enabling an audit device does not change the mode of a device file', async () => {
    const before = (await stat('/dev/null')).mode
    const { audit, enabling } = enable({ file_path: '/dev/null', mode: '0604' })
    await enabling
    await audit.close()
    expect((await stat('/dev/null')).mode).toBe(before)
  })
})

it('an audit file sink limits the bytes of waiting lines', async () => {
  const sink = new FileSink({ path: join(folder, 'audit.log'), mode: undefined, clock: systemClock })
  const line = `${'x'.repeat(LIMITS.auditWaitingBytesMax / 4)}\n`
  const outcomes = await Promise.allSettled(Array.from({ length: 8 }, () => sink.append(line, 'request')))
  const taken = outcomes.filter(({ status }) => status === 'fulfilled').length
  expect(taken).toBeGreaterThanOrEqual(1)
  expect(taken).toBeLessThan(8)
  await sink.append('after\n', 'request')
  await sink.close()
})

it('an audit file sink writes a line that arrives after its close, and leaves no open file', async () => {
  const path = join(folder, 'late.log')
  const sink = new FileSink({ path, mode: undefined, clock: systemClock })
  await sink.append('in time\n', 'request')
  const closed = sink.close()
  await sink.append('late\n', 'response')
  await closed
  await sink.reopen()
  expect(await readFile(path, 'utf8')).toBe('in time\nlate\n')
  const links = (await readdir('/proc/self/fd')).map((name) => readlink(`/proc/self/fd/${name}`).catch(() => ''))
  expect((await Promise.all(links)).filter((target) => target === path)).toEqual([])
})
