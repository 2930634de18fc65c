import { readFileSync } from 'node:fs'
import path from 'node:path'

/** What the package declares to those who compile against it. */
const TYPES = path.join(import.meta.dirname, '..', '..', 'dist')

/** An entry of the package, by what it is imported as. */
export const ENTRIES = {
  'understudy-lab': 'index.d.ts',
  'understudy-lab/vitest': 'vitest.d.ts',
  'understudy-lab/testcontainers': 'testcontainers/index.d.ts',
} as const

/** Something that an entry exports. */
export interface Exported {
  readonly name: string
  /** What stands in the comment before its declaration; undefined where there is none. */
  readonly text: string | undefined
  /** What the comment has as `@example`; undefined where there is none. */
  readonly example: string | undefined
}

/** An example of a member, which has `lab` from somewhere. */
export interface MemberExample {
  readonly place: string
  readonly example: string
}

const COMMENT = /\/\*\*((?:(?!\*\/)[\s\S])*)\*\//.source
const WORD = /export (?:declare )?(?:abstract )?(?:async )?(?:interface|type|class|const|function) (?<name>\w+)/.source
const DECLARATION = new RegExp(`(?:${COMMENT}\\s*)?^${WORD}`, 'gm')
const LIST = /^export (?:type )?\{(?<names>[^}]*)\} from '(?<from>[^']+)'/gm

/** Every export of a file of declarations, those that it hands on under their new names. */
export const exportsOf = (file: string): Exported[] => {
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
  // Of an overloaded function the first declaration has the comment.
  const all = [...own, ...handedOn]
  return all.filter(({ name }, at) => all.findIndex((one) => one.name === name) === at)
}

const toExported = (name: string, comment: string | undefined): Exported => ({
  name,
  text: comment === undefined ? undefined : plain(comment),
  example: comment === undefined ? undefined : exampleIn(comment),
})

/** Examples of members, in all files that declare what an entry exports. */
export const memberExamples = (): MemberExample[] =>
  [...filesOf(Object.values(ENTRIES))].flatMap((file) => {
    const text = readFileSync(path.join(TYPES, file), 'utf8')
    return [...text.matchAll(new RegExp(`^[ \\t]+${COMMENT}\\s*(?<member>[^\\n(:;]+)`, 'gm'))].flatMap((found) => {
      const example = exampleIn(found[1] ?? '')
      return example === undefined ? [] : [{ place: `${file}: ${found.groups?.member?.trim()}`, example }]
    })
  })

/** These, and those from which they hand something on. */
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
