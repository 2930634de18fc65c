import { describe, expect, it } from 'vitest'
import { auditLinesOf, findLines } from '../../../src/web/cluster/audit-lines.js'

const WRITTEN = {
  time: '2026-01-05T10:00:00.000000Z',
  type: 'response',
  auth: { display_name: 'approle' },
  request: { operation: 'read', path: 'kv/data/app', namespace: { id: 'x', path: 'team/' } },
  error: 'permission denied',
}
const answer = (...lines: unknown[]) => ({ lines: lines.map((text) => ({ device: 'file/', text })) })

describe('lines of an audit device', () => {
  it('audit lines show caller, action and time, newest first', () => {
    const text = JSON.stringify(WRITTEN)
    expect(auditLinesOf(answer('{}', text))).toEqual([
      {
        ...{ index: 1, device: 'file/', atMs: Date.UTC(2026, 0, 5, 10), type: 'response', operation: 'read' },
        ...{ path: 'team/kv/data/app', user: 'approle', error: 'permission denied', text },
      },
      expect.objectContaining({ index: 0, atMs: undefined, path: '', text: '{}' }),
    ])
  })

  it.each(['{"time":"2026-', '', '[1]', 'null', '"x"', '{"request":"x","auth":[],"time":7}'])(
    'unreadable audit lines are shown unchanged: %s',
    (text) => {
      expect(auditLinesOf(answer(text))).toMatchObject([{ text, path: '', user: '' }])
    },
  )

  it('audit lines are found by any text in them', () => {
    const lines = auditLinesOf(answer('{"a":"One"}', '{"a":"two"}'))
    expect(findLines(lines, ' one ').map(({ text }) => text)).toEqual(['{"a":"One"}'])
    expect(findLines(lines, '')).toHaveLength(2)
    expect(auditLinesOf({})).toEqual([])
  })
})
