import { expect, test } from 'vitest'
import { createPinoLog } from '../../../src/base/pino-log.js'

const SECRET = 'hvs.canary-that-must-not-be-seen'

const logOf = (format: 'json' | 'standard') => {
  const lines: string[] = []
  const log = createPinoLog({ level: 'trace', format, sink: { dropped: 0, write: (line) => void lines.push(line) } })
  return { log, lines }
}

const nested = (depth: number, name: string): Record<string, unknown> =>
  depth === 0 ? { [name]: SECRET, plain: 'seen' } : { a: nested(depth - 1, name) }

test.each([
  'token',
  'X-Vault-Token',
  'client_token',
  'secretId',
  'rootKey',
  'unseal_keys',
  'OTP',
  'dr_operation_token',
])('the log hides a secret field at every depth: %s', (name) => {
  for (const format of ['json', 'standard'] as const) {
    const { log, lines } = logOf(format)
    for (let depth = 0; depth <= 40; depth++) {
      const fields = nested(depth, name)
      log.info('plain', fields)
      log.with(fields).warn('child')
      log.error('in a list', { list: [[fields]], map: new Map([['m', fields]]), set: new Set([fields]) })
      log.error('in an error', {
        error: Object.assign(new Error('why', { cause: Object.assign(new Error('deeper'), fields) }), fields),
      })
    }
    expect(lines).toHaveLength(41 * 4)
    expect(lines.filter((line) => line.includes(SECRET))).toEqual([])
    expect(lines[0]).toContain('[hidden]')
    expect(lines[0]).toContain('seen')
  }
})

test('the log keeps fields that are not secret, and shortens bytes', () => {
  const { log, lines } = logOf('json')
  const circle: Record<string, unknown> = { name: 'round' }
  circle.self = circle
  log.info('said', { n: 1, big: 2n, none: null, list: [1, 'x'], when: new Date(0), bytes: Buffer.from(SECRET), circle })
  const line = JSON.parse(lines[0] ?? '')
  expect(line).toMatchObject({
    message: 'said',
    level: 'info',
    n: 1,
    big: '2',
    none: null,
    list: [1, 'x'],
    when: '1970-01-01T00:00:00.000Z',
    bytes: `[${SECRET.length} bytes]`,
  })
  log.error('failed', { error: new TypeError('bad', { cause: new Error('worse') }) })
  expect(JSON.parse(lines[1] ?? '').error).toMatchObject({
    type: 'TypeError',
    message: 'bad',
    stack: expect.stringContaining('redact.test'),
    cause: { message: 'worse' },
  })
})
