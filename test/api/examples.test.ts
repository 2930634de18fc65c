import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ENTRIES, exportsOf, memberExamples } from '../support/examples.js'
import { blocksToRun, readPages, ROOT } from '../support/pages.js'

/** What the package exports says what it is for, and shows it by an example which somebody else's compiler takes as it stands. */

const EXPORTS = Object.entries(ENTRIES).flatMap(([entry, file]) =>
  exportsOf(file).map((exported) => ({ id: `${entry} ${exported.name}`, ...exported })),
)
const MEMBERS = memberExamples()

const ON_PAGES = readPages().flatMap((page) =>
  blocksToRun(page, 'ts').map(({ text, line }) => ({ place: `${page.name} line ${line}`, text })),
)

/** Of what an example of a member speaks. */
const GIVEN = `import { startLab } from 'understudy-lab'\nconst lab = await startLab('pr-dr')\n`

const ALL = [...EXPORTS.map(({ id }) => id), ...[...MEMBERS, ...ON_PAGES].map(({ place }) => place), 'wrong']

const FLAGS = [
  ...['--noEmit', '--strict', '--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess', '--skipLibCheck'],
  ...['--module', 'nodenext', '--target', 'es2022', '--lib', 'es2023,esnext.disposable', '--types', 'node'],
]

let project: string
let complaints: string

const fileOf = (id: string): string => `${id.replace(/\W+/g, '-')}.mts`
const complaintsOf = (id: string): string[] =>
  complaints.split('\n').filter((line) => line.startsWith(`${fileOf(id)}(`))

beforeAll(async () => {
  project = mkdtempSync(path.join(tmpdir(), 'understudy-examples-'))
  mkdirSync(path.join(project, 'node_modules', '@types'), { recursive: true })
  symlinkSync(ROOT, path.join(project, 'node_modules', 'understudy-lab'))
  for (const name of ['vitest', 'testcontainers', '@types/node'])
    symlinkSync(path.join(ROOT, 'node_modules', name), path.join(project, 'node_modules', name))
  const write = (id: string, text: string) => writeFileSync(path.join(project, fileOf(id)), text)
  for (const { id, example = '' } of EXPORTS) write(id, example)
  for (const { place, example } of MEMBERS) write(place, GIVEN + example)
  for (const { place, text } of ON_PAGES) write(place, text)
  write('wrong', `${GIVEN}await lab.converged({ timeoutMS: 1 })\n`)
  const files = ALL.map(fileOf)
  const compiler = path.join(ROOT, 'node_modules', '.bin', 'tsc')
  complaints = await new Promise((resolve) => {
    execFile(compiler, [...FLAGS, ...files], { cwd: project }, (_, stdout, stderr) => resolve(stdout + stderr))
  })
})
afterAll(() => rmSync(project, { recursive: true, force: true }))

describe('an export of the package', () => {
  it.each(EXPORTS)('$id says what it is, with an example that compiles by itself', ({ id, name, text, example }) => {
    expect(text, 'what it says').toMatch(/^[A-Z`][\s\S]*[.:]/)
    expect(example, 'its example').toMatch(new RegExp(`\\b${name}\\b`))
    expect(complaintsOf(id)).toEqual([])
  })
})

describe('a member', () => {
  it.each(MEMBERS)('$place has an example that compiles', ({ place }) => {
    expect(complaintsOf(place)).toEqual([])
  })
})

describe('a page', () => {
  it.each(ON_PAGES)('compiles: $place', ({ place }) => {
    expect(complaintsOf(place)).toEqual([])
  })
})

describe('the compiler', () => {
  it('the compiler reports a wrong use and accepts the examples', () => {
    expect(complaintsOf('wrong')).toEqual([expect.stringContaining("'timeoutMS' does not exist")])
    const known = ALL.flatMap(complaintsOf)
    const all = complaints.split('\n').filter((line) => /^\S+\(\d+,\d+\): error|^error/.test(line))
    expect(all).toEqual(known)
  })

  it('the compiler checks every export and every member of the package', () => {
    expect(EXPORTS.length).toBeGreaterThan(45)
    expect(MEMBERS.length).toBeGreaterThan(4)
  })
})
