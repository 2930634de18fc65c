import { mkdtemp, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { LIMITS } from '../../../src/base/limits.js'
import type { AuditBroker } from '../../../src/core/audit/audit.js'
import { createAudit, sampleEntry } from '../../support/audit-samples.js'
import { refusal } from '../../support/backend-harness.js'

describe('audit devices', () => {
  it('a request succeeds without any audit device', async () => {
    const { audit } = createAudit()
    expect(audit.isEnabled).toBe(false)
    await audit.logRequest(sampleEntry())
  })

  it('a request succeeds if one of its audit devices writes it', async () => {
    const { audit, enable, lines, output } = createAudit()
    await enable('out', { file_path: 'stdout' })
    await enable('none', { file_path: 'discard' })
    output.isBroken = true
    await audit.logRequest(sampleEntry())
    expect(lines).toEqual([])
  })

  it('a request fails if all audit devices failed, and succeeds after one recovers', async () => {
    const { audit, enable, lines, output } = createAudit()
    await enable('out', { file_path: 'stdout' })
    output.isBroken = true
    expect(await refusal(audit.logRequest(sampleEntry()))).toEqual(['internal', 'internal error'])
    expect(await refusal(audit.logResponse(sampleEntry()))).toEqual(['internal', 'internal error'])
    output.isBroken = false
    await audit.logRequest(sampleEntry())
    expect(lines).toHaveLength(1)
  })

  it('each audit device hashes with its own salt', async () => {
    const { audit, enable } = createAudit()
    await enable('a', { file_path: 'discard' })
    await enable('b', { file_path: 'discard' })
    expect(audit.findHash('a', 'x')).toMatch(/^hmac-sha256:[0-9a-f]{64}$/)
    expect(audit.findHash('a', 'x')).toBe(audit.findHash('a', 'x'))
    expect(audit.findHash('a', 'x')).not.toBe(audit.findHash('b', 'x'))
    expect(audit.findHash('c', 'x')).toBeUndefined()
  })

  it('audit devices return after a restart with the same salt', async () => {
    const first = createAudit()
    await first.enable('a', { file_path: 'discard' })
    await first.enable('b/deeper', { file_path: 'discard' }, true)
    const second = createAudit(first.storage)
    await second.audit.load()
    expect(second.audit.list()).toEqual(first.audit.list())
    expect(second.audit.findHash('a', 'x')).toBe(first.audit.findHash('a', 'x'))
  })

  it('local audit devices are stored under a separate key', async () => {
    const { enable, storage, audit } = createAudit()
    await enable('a', { file_path: 'discard' })
    await enable('b', { file_path: 'discard' }, true)
    expect(await storage.keys('')).toEqual(['core/audit/a', 'core/local-audit/b'])
    await audit.disable('a')
    await audit.disable('b')
    expect(await storage.keys('')).toEqual([])
    expect(audit.isEnabled).toBe(false)
  })

  it.each(['a', 'a/b', 'x'])('an audit device cannot take a path that overlaps another: %s', async (name) => {
    const { enable } = createAudit()
    await enable('a', { file_path: 'discard' })
    await enable('x/y', { file_path: 'discard' })
    expect(await refusal(enable(name, { file_path: 'discard' }))).toEqual(['invalid-request', 'path already in use'])
  })

  it('one of two concurrent requests for the same audit path succeeds', async () => {
    const { enable, audit } = createAudit()
    const outcomes = await Promise.allSettled([
      enable('a', { file_path: 'discard' }),
      enable('a', { file_path: 'discard' }, true),
    ])
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    expect(audit.list()).toHaveLength(1)
  })

  it('audit devices follow the table after replication changes it', async () => {
    const primary = createAudit()
    const secondary = createAudit()
    await primary.enable('a', { file_path: 'stdout' })
    const record = primary.storage.get('core/audit/a')
    if (!record) throw new Error('no record')
    await secondary.storage.write((tx) => tx.put('core/audit/a', record))
    expect(secondary.audit.list()).toEqual(primary.audit.list())
    await secondary.audit.logRequest(sampleEntry())
    expect(secondary.lines).toHaveLength(1)

    await secondary.storage.write((tx) => tx.delete('core/audit/a'))
    expect(secondary.audit.isEnabled).toBe(false)
  })

  it.each([
    [{}, 'file_path is required'],
    [{ file_path: '' }, 'file_path is required'],
    [{ file_path: 'discard', mode: 'rw' }, 'mode'],
    [{ file_path: 'discard', format: 'xml' }, 'xml'],
    [{ file_path: 'discard', log_raw: 'maybe' }, 'log_raw'],
  ])('an audit device rejects the options %j', async (options, text) => {
    const { enable, audit } = createAudit()
    const [code, message] = await refusal(enable('a', options as Record<string, string>))
    expect(code).toBe('invalid-request')
    expect(message).toContain(text)
    expect(audit.isEnabled).toBe(false)
  })
})

describe('the tail of audit devices', () => {
  const textsOf = (audit: AuditBroker) => audit.tail().lines.map(({ path, text }) => `${path} ${text}`)

  it('the audit tail shows the written lines in order, with hashed values', async () => {
    const { audit, enable, lines } = createAudit()
    await enable('out', { file_path: 'stdout', prefix: 'audit: ' })
    await audit.logRequest(sampleEntry())
    await audit.logResponse(sampleEntry())
    expect(textsOf(audit)).toEqual(lines.map((line) => `out/ ${line.slice('audit: '.length, -1)}`))
    expect(textsOf(audit).join()).not.toContain('swordfish')
    expect(audit.tail().kept).toEqual(['out/'])
  })

  it('the audit tail shows no line of a device that writes raw, writes nothing or failed', async () => {
    const { audit, enable, output } = createAudit()
    await enable('raw', { file_path: 'stdout', log_raw: 'true' })
    await enable('none', { file_path: 'discard' })
    await audit.logRequest(sampleEntry())
    await enable('out', { file_path: 'stdout' })
    output.isBroken = true
    await audit.logRequest(sampleEntry())
    expect(audit.tail()).toEqual({ lines: [], kept: ['out/'] })
  })

  it('the audit tail is limited in its number of lines and in each line', async () => {
    const { audit, enable } = createAudit()
    await enable('out', { file_path: 'stdout' })
    const [first, last] = ['first', 'last'].map((id) => sampleEntry({ request: { ...sampleEntry().request, id } }))
    if (!first || !last) throw new Error('no entries')
    await audit.logRequest(first)
    for (let count = 0; count < 2 * LIMITS.auditTailLines; count += 1) await audit.logRequest(sampleEntry())
    await audit.logRequest(last)
    const texts = textsOf(audit)
    expect(texts).toHaveLength(LIMITS.auditTailLines)
    expect(texts.join()).not.toContain('"id":"first"')
    expect(texts.at(-1)).toContain('"id":"last"')
    const many = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`field-${index}`, 'x']))
    await audit.logRequest(sampleEntry({ request: { ...sampleEntry().request, data: many } }))
    expect(audit.tail().lines.at(-1)?.text).toHaveLength(LIMITS.auditTailCharactersMax + ' …'.length)
  })
})

describe('audit files', () => {
  let folder: string
  let audit: AuditBroker
  let enable: ReturnType<typeof createAudit>['enable']
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'audit-'))
    ;({ audit, enable } = createAudit())
  })
  afterEach(async () => {
    await audit.close()
    await rm(folder, { recursive: true })
  })

  const linesOf = async (path: string) => (await readFile(path, 'utf8')).split('\n').slice(0, -1)

  it('an audit file and its directories are created for the owner alone', async () => {
    const path = join(folder, 'deep', 'er', 'audit.log')
    await enable('a', { file_path: path })
    expect((await stat(path)).mode & 0o777).toBe(0o600)
  })

  it('an audit file takes the requested mode, and keeps its mode for 0000', async () => {
    const path = join(folder, 'audit.log')
    await enable('a', { file_path: path, mode: '0644' })
    expect((await stat(path)).mode & 0o777).toBe(0o644)
    await enable('b', { file_path: path, mode: '0000' })
    expect((await stat(path)).mode & 0o777).toBe(0o644)
  })

  it('the deprecated option path names an audit file', async () => {
    const path = join(folder, 'audit.log')
    await enable('a', { path })
    await audit.logRequest(sampleEntry())
    expect(await linesOf(path)).toHaveLength(1)
  })

  it('an audit file holds every entry in the order of the calls when they resolve', async () => {
    const path = join(folder, 'audit.log')
    await enable('a', { file_path: path })
    const entry = sampleEntry()
    await Promise.all(
      Array.from({ length: 200 }, (_, n) => audit.logRequest({ ...entry, request: { ...entry.request, id: `${n}` } })),
    )
    const ids = (await linesOf(path)).map((line) => Number(JSON.parse(line).request.id))
    expect(ids).toEqual(Array.from({ length: 200 }, (_, n) => n))
  })

  it('a reload reopens an audit file, so that a moved file stays unchanged', async () => {
    const path = join(folder, 'audit.log')
    await enable('a', { file_path: path })
    await audit.logRequest(sampleEntry())
    await rename(path, `${path}.1`)
    await audit.reload()
    await audit.logRequest(sampleEntry())
    await audit.logResponse(sampleEntry())
    expect(await linesOf(`${path}.1`)).toHaveLength(1)
    expect(await linesOf(path)).toHaveLength(2)
  })

  it('an audit file that cannot be opened prevents that its device is enabled', async () => {
    await writeFile(join(folder, 'file'), '')
    const [code] = await refusal(enable('a', { file_path: join(folder, 'file', 'audit.log') }))
    expect(code).toBe('invalid-request')
    expect(audit.isEnabled).toBe(false)
  })

  it('an audit file that cannot be opened after a restart fails requests until it can', async () => {
    const blocked = join(folder, 'blocked')
    const first = createAudit()
    await first.enable('a', { file_path: join(blocked, 'audit.log') })
    await first.audit.close()
    await rm(blocked, { recursive: true })
    await writeFile(blocked, '')

    const second = createAudit(first.storage)
    await second.audit.load()
    expect(await refusal(second.audit.logRequest(sampleEntry()))).toEqual(['internal', 'internal error'])
    await rm(blocked)
    await second.audit.logRequest(sampleEntry())
    expect(await linesOf(join(blocked, 'audit.log'))).toHaveLength(1)
    await second.audit.close()
  })

  it('an audit file is complete after the broker is closed', async () => {
    const path = join(folder, 'audit.log')
    await enable('a', { file_path: path })
    const logged = Array.from({ length: 20 }, () => audit.logRequest(sampleEntry()))
    await audit.close()
    await Promise.all(logged)
    expect(await linesOf(path)).toHaveLength(20)
  })
})
