import { appendFileSync, copyFileSync, renameSync, truncateSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { isOfRequest, LogReader, toJsonLine, toTextLine } from '../../../src/lab/lifecycle/logs.js'
import { TestDirectory } from '../../support/program.js'

const line = (second: number, fields: Record<string, unknown> = {}) =>
  `${JSON.stringify({ level: 'info', time: `2026-01-01T00:00:0${second}.000Z`, ...fields, message: `m${second}` })}\n`

describe('the log of a lab', () => {
  it('lab logs are merged by time, and a line without a time stays behind the one before it', () => {
    using at = new TestDirectory()
    const a = at.write('a.log', `${line(1)}a text\n${line(4)}`)
    const b = at.write('b.log', `${line(2)}${line(3)}`)
    const found = new LogReader([
      { name: 'A', logFile: a },
      { name: 'B', logFile: b },
      { name: 'C', logFile: at.path('none.log') },
    ]).read()
    expect(found.map(({ source, text }) => `${source} ${/m\d|a text/.exec(text)}`)).toEqual([
      'A m1',
      'A a text',
      'B m2',
      'B m3',
      'A m4',
    ])
  })

  it('the log reader continues with whole lines after a file is replaced or truncated', () => {
    using at = new TestDirectory()
    const file = at.path('a.log')
    const reader = new LogReader([{ name: 'A', logFile: file }])
    const read = () => reader.read().map(({ text }) => text)
    expect(read()).toEqual([])
    writeFileSync(file, 'one\ntw')
    expect(read()).toEqual(['one'])
    appendFileSync(file, 'o\n')
    expect(read()).toEqual(['two'])
    expect(read()).toEqual([])
    copyFileSync(file, at.path('copy'))
    renameSync(at.path('copy'), file)
    expect(read(), 'another file of that name is read from its beginning').toEqual(['one', 'two'])
    truncateSync(file, 0)
    expect(read()).toEqual([])
    appendFileSync(file, 'new\n')
    expect(read()).toEqual(['new'])
  })

  it('a lab log line prints as text or JSON with its source', () => {
    const [found] = [{ source: 'A', atMs: 0, text: line(1, { request_id: 'x', path: 'sys/mounts' }).trim() }]
    if (!found) throw new Error('no line')
    expect(toTextLine(found)).toBe('A 2026-01-01T00:00:01.000Z [INFO] m1 request_id=x path=sys/mounts')
    expect(JSON.parse(toJsonLine(found))).toMatchObject({ cluster: 'A', message: 'm1', request_id: 'x' })
    expect([isOfRequest(found, 'x'), isOfRequest(found, 'y')]).toEqual([true, false])
    expect(toTextLine({ source: 'A', atMs: 0, text: '==> banner' })).toBe('A ==> banner')
    expect(toJsonLine({ source: 'keeper', atMs: 0, text: '{broken' })).toBe('{"source":"keeper","message":"{broken"}')
  })
})
