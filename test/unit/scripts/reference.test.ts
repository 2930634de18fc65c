import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { referencePages } from '../../../scripts/support/reference.js'
import { parseDrill } from '../../../src/lab/drills/parse.js'
import { readPage, ROOT } from '../../support/pages.js'

it.each([...referencePages()])('%s is what `npm run reference` writes', (file, text) => {
  expect(readFileSync(path.join(ROOT, file), 'utf8')).toBe(text)
})

it('every example of a drill step is a step that drills accept', () => {
  const page = referencePages().get('docs/reference/drill-file.md') ?? ''
  const [steps = ''] = page.split('## Expectations about clients')
  const examples = readPage('', steps).blocks.map(({ text }) => text)
  expect(examples.length).toBeGreaterThan(20)
  for (const example of examples) {
    const lines = example
      .trimEnd()
      .split('\n')
      .map((line) => `  ${line}`)
    const file = [
      'apiVersion: understudy/v1',
      'kind: Drill',
      'purpose: An example.',
      'topology: four',
      'steps:',
      ...lines,
    ]
    expect(() => parseDrill(file.join('\n'), 'example.yaml'), example).not.toThrow()
  }
})
