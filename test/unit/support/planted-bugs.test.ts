import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { MISSED_BUGS } from '../../simulation/bugs/missed-bugs.js'
import { BUGS } from '../../simulation/bugs.js'
import { plant } from '../../simulation/planted.js'
import { ROOT } from '../../support/pages.js'

const bugs = [...BUGS, ...MISSED_BUGS]

it.each(bugs)('the planted bug "$name" changes a text that its file has exactly once', (bug) => {
  expect(() => plant(bug, readFileSync(path.join(ROOT, 'src', bug.file), 'utf8'))).not.toThrow()
})

it.each(bugs)('the planted bug "$name" uses only private members that its file has', ({ file, to }) => {
  const text = readFileSync(path.join(ROOT, 'src', file), 'utf8')
  expect((to.match(/#\w+/g) ?? []).filter((member) => !text.includes(member))).toEqual([])
})
