import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { MISSED_BUGS } from '../../simulation/bugs/missed-bugs.js'
import { BUGS } from '../../simulation/bugs.js'
import { ROOT } from '../../support/pages.js'

it('every planted bug names a text that its file has exactly once', () => {
  const lost = [...BUGS, ...MISSED_BUGS].filter(({ file, from }) => {
    const found = path.join(ROOT, 'src', file)
    return !existsSync(found) || readFileSync(found, 'utf8').split(from).length !== 2
  })
  expect(lost.map(({ name, file }) => `${name}: ${file}`)).toEqual([])
})
