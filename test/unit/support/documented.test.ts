import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { LINK_FAULTS } from '../../../src/lab/proxy/link-faults.js'
import { serverFaultCommands } from '../../../src/cli/commands/lab/server-faults.js'
import { ProcessOutput } from '../../../src/cli/terminal/output.js'
import { makeProgram } from '../../../src/cli/program.js'
import { EXPECTATIONS } from '../../../src/lab/drills/expectations/expectations.js'
import { STEPS } from '../../../src/lab/drills/steps/steps.js'
import { OWN_KEYS } from '../../../src/server/config/tables.js'
import { readPages, ROOT } from '../../support/pages.js'

/**
 * The documentation is complete: CONTRIBUTING.md promises that these tests fail until `docs/` describes each addition.
 */

/** Inline code and fenced code blocks. */
const CODE = /```[\s\S]*?```|`[^`\n]+`/g

const codeIn = (text: string): string[] => text.match(CODE) ?? []

const WORDS = new Set(readPages().flatMap(({ text }) => codeIn(text).flatMap((code) => code.split(/[^\w-]+/))))

it.each([
  ['setting', Object.keys(OWN_KEYS)],
  ['fault of a link', Object.keys(LINK_FAULTS)],
  ['fault of a server', serverFaultCommands(async () => {}).map((command) => command.name())],
  ['drill step', Object.keys(STEPS)],
  ['expectation of a drill', Object.keys(EXPECTATIONS)],
  ['command', makeProgram(new ProcessOutput(() => 0), () => {}).commands.map((command) => command.name())],
])('the pages name every %s', (_, names) => {
  expect(names.length).toBeGreaterThan(3)
  expect(names.filter((name) => !WORDS.has(name))).toEqual([])
})

/** Returns the anchor of a heading, as GitHub and the documentation site create it. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\w\s-]/g, '')
    .trim()
    .replaceAll(/\s/g, '-')

const anchorsIn = (text: string): readonly string[] =>
  [...text.replaceAll(/^```[\s\S]*?^```/gm, '').matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => anchorOf(heading))

it('the pages link only to files and headings that exist', () => {
  const lost = readPages().flatMap(({ name, text }) =>
    [...text.matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)/g)]
      .filter(([, target = '', anchor]) => {
        const file = target === '' ? path.join(ROOT, name) : path.resolve(ROOT, path.dirname(name), target)
        if (!existsSync(file)) return true
        return anchor !== undefined && !anchorsIn(readFileSync(file, 'utf8')).includes(anchor)
      })
      .map(([link]) => `${name}: ${link}`),
  )
  expect(lost).toEqual([])
})

it.each(['CONTRIBUTING.md', 'SECURITY.md'])('%s names only existing files', (page) => {
  const text = readFileSync(path.join(ROOT, page), 'utf8')
  const links = [...text.matchAll(/\]\((?!https?:)([^)#\s]+)(?:#[^)]*)?\)/g)].map(([, target = '']) => target)
  const named = codeIn(text).flatMap((code) => code.match(/\b(?:docs|proto|scripts|src|test)\/[\w./-]*\w/g) ?? [])
  expect(named.length).toBeGreaterThan(2)
  expect([...links, ...named].filter((file) => !existsSync(path.join(ROOT, file)))).toEqual([])
})
