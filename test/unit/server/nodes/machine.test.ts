import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import {
  findStep,
  NODE_EVENTS,
  type NodeEvent,
  type NodeState,
  TRANSITIONS,
} from '../../../../src/server/nodes/machine.js'

/** The tables of SPEC.md, compared with the code. */

const spec = readFileSync(path.join(import.meta.dirname, '../../../../src/server/nodes/SPEC.md'), 'utf8')

const tableBelow = (heading: string): string[][] => {
  const [, text = ''] = spec.split(`### ${heading}\n`)
  const rows = (text.split(/\n#/)[0] ?? '').split('\n').filter((line) => line.startsWith('|'))
  return rows
    .filter((line) => !line.startsWith('|---'))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )
}

const STATES = Object.keys(TRANSITIONS) as NodeState[]

test('SPEC.md has every state and event with its transition', () => {
  const coded = STATES.map((state) => [state, ...NODE_EVENTS.map((event) => findStep(state, event)?.to ?? '-')])
  const [head, ...rows] = tableBelow('States and events')
  const columns = (head ?? []).slice(1)
  expect([...columns].sort()).toEqual([...NODE_EVENTS].sort())
  const inOrder = coded.map(([state = '', ...cells]) => [
    state,
    ...columns.map((event) => cells[NODE_EVENTS.indexOf(event as NodeEvent)] ?? ''),
  ])
  const order = rows.map(([state]) => state)
  expect(rows).toEqual(inOrder.sort((a, b) => order.indexOf(a[0]) - order.indexOf(b[0])))
  expect(order).toHaveLength(STATES.length)
})

test('SPEC.md has every effect', () => {
  const coded = new Set(
    STATES.flatMap((state) =>
      NODE_EVENTS.flatMap((event) => {
        const effect = findStep(state, event)?.effect
        return effect ? [`${effect}: ${state} ${event}`] : []
      }),
    ),
  )
  const [, ...rows] = tableBelow('Effects')
  const told = rows.flatMap(([effect, of = '']) => of.split(', ').map((cell) => `${effect}: ${cell}`))
  expect(new Set(told)).toEqual(coded)
})

test('in every sequence of events, a leader steps down before its next election', () => {
  // Without an open runtime, it gives up at once.
  const ends = [undefined, 'taking-over', 'active', 'changing', 'stepping-down']
  for (const state of ['taking-over', 'active', 'changing'] as const) {
    for (const event of NODE_EVENTS) {
      const step = findStep(state, event)
      expect(step?.effect === 'resign' ? ['sealed'] : ends, `${state} ${event}`).toContain(step?.to)
    }
  }
})
