import { readFileSync } from 'node:fs'
import path from 'node:path'

const SPEC = path.join(import.meta.dirname, '..', '..', 'src', 'replication', 'SPEC.md')

/** A table by its first column, then by the heading of the column. */
export type SpecTable = Readonly<Record<string, Readonly<Record<string, string>>>>

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
