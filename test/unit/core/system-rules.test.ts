import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import type { Condition, PathRules } from '../../../src/logical/path-rules.js'
import { systemRules } from '../../../src/core/system/system-rules.js'

/** Compares the table of rules in docs/reference/compatibility.md with the rules of the server. */

const { rows } = systemRules({ unauthenticatedMetrics: false, own: { allowGenerateRootUnauthenticated: true } })

const isBelow = (folder: string, name: string): boolean =>
  folder.endsWith('/*') && name !== folder && name.startsWith(folder.slice(0, -1))

/** Returns the rows to which a rule applies. A folder stands for its rows if the rule applies to all of them. */
const namesOf = (holds: (rules: PathRules) => unknown): string[] => {
  const names = Object.keys(rows).filter((name) => holds(rows[name] ?? {}))
  const whole = names.filter((folder) => Object.keys(rows).every((row) => !isBelow(folder, row) || names.includes(row)))
  return names.filter((name) => !whole.some((folder) => isBelow(folder, name)))
}

const named = (names: readonly string[], note = ''): string[] => names.map((name) => `\`${name}\`${note}`)

const servedWhile = (condition: Condition): string[] => [
  ...named(namesOf(({ servedWhile }) => servedWhile?.[condition] === 'all')),
  ...named(
    namesOf(({ servedWhile }) => servedWhile?.[condition] === 'reads'),
    ' (read)',
  ),
]

const RULES: readonly (readonly [string, readonly string[]])[] = [
  ['requires no token, or checks the token itself', named(namesOf(({ access }) => access === 'open'))],
  ['requires `sudo` in addition to the capability of the operation', named(namesOf(({ access }) => access === 'sudo'))],
  ['exists only in the root namespace', named(namesOf(({ isRootOnly }) => isRootOnly))],
  ['is not audited', named(namesOf(({ isUnaudited }) => isUnaudited))],
  ['is served while not initialized or sealed', servedWhile('sealed')],
  ['is served by a standby itself, and not forwarded to the active node', servedWhile('standby')],
  ['is served while the cluster restarts for a new role', servedWhile('restarting')],
  ['is served by a performance secondary before its first copy', servedWhile('bootstrapping')],
  ['is served by a performance secondary whose first copy has no primary', servedWhile('stranded')],
  ['is served by a DR secondary before its first copy', servedWhile('dr-bootstrapping')],
  ['is served by a DR secondary', servedWhile('dr')],
  ['is served by a node that was removed from its cluster', servedWhile('removed')],
  ['is accepted by a fenced primary (`fence_client_writes`)', servedWhile('fenced')],
  ['does not wait for the start of a role change', servedWhile('writes-paused')],
  [
    'waits for the other nodes of its cluster, if there is no data without them',
    named(namesOf(({ awaitsNodes }) => awaitsNodes)),
  ],
  [
    'waits until a running role change ends (at most `role_change_wait`), then uses the new role',
    named(namesOf(({ takesTurns }) => takesTurns)),
  ],
  [
    'does not exist on a listener with `disable_replication_status_endpoints`',
    named(namesOf(({ withheldAs }) => withheldAs === 'replication-status')),
  ],
  ['accepts a wrapping token as the client token', named(namesOf(({ wrappingToken }) => wrappingToken))],
  ['accepts field names of the body in any case', named(namesOf(({ body }) => body === 'bare'))],
  ['has a file or a stream as its body', named(namesOf(({ body }) => body === 'file'))],
]

test('the table of rules in compatibility.md matches the rules of the server', () => {
  const page = readFileSync(
    path.join(import.meta.dirname, '..', '..', '..', 'docs', 'reference', 'compatibility.md'),
    'utf8',
  )
  const [, table = ''] = /<!-- rules: begin -->([\s\S]*)<!-- rules: end -->/.exec(page) ?? []
  const lines = RULES.map(([rule, names]) => `| ${rule} | ${names.join(' ')} |`)
  expect(table.trim().split('\n')).toEqual(['| rule | paths below `sys/` |', '|---|---|', ...lines])
})

test('settings restrict key-share ceremonies, and allow unauthenticated metrics, also on a DR secondary', () => {
  const other = systemRules({ unauthenticatedMetrics: true, own: { allowGenerateRootUnauthenticated: false } })
  const changed = Object.keys(rows).filter((name) => other.rows[name]?.access !== rows[name]?.access)
  expect(changed).toEqual([
    'generate-root/attempt',
    'generate-root/update',
    'generate-root-token/attempt',
    'generate-root-token/update',
    'metrics',
    'replication/dr/secondary/generate-operation-token/attempt',
    'replication/dr/secondary/generate-operation-token/update',
  ])
  expect(changed.filter((name) => other.rows[name]?.access === 'open')).toEqual(['metrics'])
  expect(other.find('metrics').servedWhile).toHaveProperty('dr')
})
