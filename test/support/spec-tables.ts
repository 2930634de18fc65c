import { readFileSync } from 'node:fs'
import path from 'node:path'
import { type StateTable, step } from '../../src/replication/model/state-table.js'

const SPEC = path.join(import.meta.dirname, '..', '..', 'src', 'replication', 'SPEC.md')

/** A table by its first column, then by the heading of the column. */
type SpecTable = Readonly<Record<string, Readonly<Record<string, string>>>>

/** The table below a heading of SPEC.md. Throws where there is none. */
export const readSpecTable = (heading: string): SpecTable => {
  const text = readFileSync(SPEC, 'utf8')
  const [, section] = text.split(`\n### ${heading}\n`)
  const lines = (section?.split(/\n#/)[0] ?? '').split('\n').filter((line) => line.startsWith('|'))
  const [head, , ...rows] = lines.map((line) =>
    line
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim()),
  )
  if (!head || rows.length === 0) throw new Error(`SPEC.md has no table "${heading}"`)
  return Object.fromEntries(
    rows.map(([name = '', ...cells]) => [
      name,
      Object.fromEntries(head.slice(1).map((column, i) => [column, cells[i] ?? ''])),
    ]),
  )
}

/** Every cell of the columns, made by a function. */
export const tableOf = <Row extends string, Column extends string>(
  rows: readonly Row[],
  columns: readonly Column[],
  cell: (row: Row, column: Column) => string,
): SpecTable =>
  Object.fromEntries(rows.map((row) => [row, Object.fromEntries(columns.map((column) => [column, cell(row, column)]))]))

/** States or events of one name: as many as there are cases of it. */
type Samples<T, Key extends 'is' | 'on'> = {
  readonly [Name in T extends Readonly<Record<Key, infer N extends string>> ? N : never]: readonly Extract<
    T,
    Readonly<Record<Key, Name>>
  >[]
}

const NEVER = / cannot come while /

/**
 * What a machine does with each of its events in each of its states, as SPEC.md writes it: `state; effect, effect`, `-` for
 * what cannot come, `or` between the outcomes of several samples.
 */
export const machineTable = <State extends { readonly is: string }, Event extends { readonly on: string }, Effect>(
  table: StateTable<State, Event, Effect>,
  states: Samples<State, 'is'>,
  events: Samples<Event, 'on'>,
  nameOf: (effect: Effect) => string,
): SpecTable => {
  const outcome = (state: State, event: Event): string => {
    try {
      const { to, effects } = step(table, state, event)
      return [to.is, effects.map(nameOf).join(', ')].filter((text) => text !== '').join('; ')
    } catch (error) {
      if (error instanceof Error && NEVER.test(error.message)) return '-'
      throw error
    }
  }
  const [byState, byEvent] = [states as Record<string, readonly State[]>, events as Record<string, readonly Event[]>]
  return tableOf(Object.keys(byState), Object.keys(byEvent), (is, on) => {
    const pairs = (byState[is] ?? []).flatMap((state) => (byEvent[on] ?? []).map((event) => [state, event] as const))
    return [...new Set(pairs.map(([state, event]) => outcome(state, event)))].join(' or ')
  })
}
