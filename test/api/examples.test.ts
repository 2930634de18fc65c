import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { blocksToRun, readPages, ROOT } from '../support/pages.js'

/** The type declarations of the package. */
const TYPES = path.join(import.meta.dirname, '..', '..', 'dist')

/** Entry points of the package, by import specifier. */
const ENTRIES = {
  'understudy-lab': 'index.d.ts',
  'understudy-lab/vitest': 'vitest.d.ts',
  'understudy-lab/testcontainers': 'testcontainers/index.d.ts',
} as const

/** An export of an entry point. */
interface Exported {
  readonly name: string
  /** The text of the comment before its declaration; undefined if there is none. */
  readonly text: string | undefined
  /** The `@example` of the comment; undefined if there is none. */
  readonly example: string | undefined
}

/** An example of a member, which uses a `lab`. */
interface MemberExample {
  readonly place: string
  readonly example: string
}

const COMMENT = /\/\*\*((?:(?!\*\/)[\s\S])*)\*\//.source
const WORD = /export (?:declare )?(?:abstract )?(?:async )?(?:interface|type|class|const|function) (?<name>\w+)/.source
const DECLARATION = new RegExp(`(?:${COMMENT}\\s*)?^${WORD}`, 'gm')
const LIST = /^export (?:type )?\{(?<names>[^}]*)\} from '(?<from>[^']+)'/gm

/** Returns the exports of a declaration file, including re-exports under their new names. */
const exportsOf = (file: string): Exported[] => {
  const text = readFileSync(path.join(TYPES, file), 'utf8')
  const own = [...text.matchAll(DECLARATION)].map((found) => toExported(found.groups?.name ?? '', found[1]))
  const handedOn = [...text.matchAll(LIST)].flatMap(({ groups }) => {
    const source = path.join(path.dirname(file), (groups?.from ?? '').replace(/\.js$/, '.d.ts'))
    const there = exportsOf(source)
    return (groups?.names ?? '')
      .split(',')
      .map((name) => name.replace(/^\s*type /, '').trim())
      .filter((name) => name !== '')
      .map((name) => {
        const [old = '', as = old] = name.split(' as ')
        const found = there.find((one) => one.name === old)
        return found ? { ...found, name: as } : { name: as, text: undefined, example: undefined }
      })
  })
  // The first declaration of an overloaded function has the comment.
  const all = [...own, ...handedOn]
  return all.filter(({ name }, at) => all.findIndex((one) => one.name === name) === at)
}

const toExported = (name: string, comment: string | undefined): Exported => ({
  name,
  text: comment === undefined ? undefined : plain(comment),
  example: comment === undefined ? undefined : exampleIn(comment),
})

/** Returns the examples of members in all declaration files of an entry point. */
const memberExamples = (): MemberExample[] =>
  [...filesOf(Object.values(ENTRIES))].flatMap((file) => {
    const text = readFileSync(path.join(TYPES, file), 'utf8')
    return [...text.matchAll(new RegExp(`^[ \\t]+${COMMENT}\\s*(?<member>[^\\n(:;]+)`, 'gm'))].flatMap((found) => {
      const example = exampleIn(found[1] ?? '')
      return example === undefined ? [] : [{ place: `${file}: ${found.groups?.member?.trim()}`, example }]
    })
  })

/** Returns these files and all files that they re-export. */
const filesOf = (files: readonly string[], seen = new Set<string>()): Set<string> => {
  for (const file of files.filter((one) => !seen.has(one))) {
    seen.add(file)
    const text = readFileSync(path.join(TYPES, file), 'utf8')
    const from = [...text.matchAll(LIST)].map(({ groups }) => (groups?.from ?? '').replace(/\.js$/, '.d.ts'))
    filesOf(
      from.map((one) => path.join(path.dirname(file), one)),
      seen,
    )
  }
  return seen
}

const plain = (comment: string): string => comment.replace(/^[ \t]*\* ?/gm, '').trim()

const exampleIn = (comment: string): string | undefined =>
  /^@example\n(?<code>[\s\S]*?)(?=^@|$(?![\s\S]))/m.exec(plain(comment))?.groups?.code

/** Every export of the package has a description and an example that compiles in another project. */

const EXPORTS = Object.entries(ENTRIES).flatMap(([entry, file]) =>
  exportsOf(file).map((exported) => ({ id: `${entry} ${exported.name}`, ...exported })),
)
const MEMBERS = memberExamples()

const ON_PAGES = readPages().flatMap((page) =>
  blocksToRun(page, 'ts').map(({ text, line }) => ({ place: `${page.name} line ${line}`, text })),
)

/** The variables that an example of a member uses. */
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
  it.each(EXPORTS)('$id has a description, and an example that compiles on its own', ({ id, name, text, example }) => {
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
  it.each(ON_PAGES)('the example of a page compiles: $place', ({ place }) => {
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
