import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { topologyCommand } from '../../../src/cli/commands/lab/topology.js'
import { topologyText } from '../../../src/lab/topology/catalogue.js'

const filesIn = (files: Readonly<Record<string, string>>) => {
  const directory = mkdtempSync(path.join(tmpdir(), 'understudy-topologies-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  for (const [name, text] of Object.entries(files)) writeFileSync(path.join(directory, name), text)
  return (name: string) => path.join(directory, name)
}

it('the topology command checks every file, even after errors in earlier files', () => {
  const at = filesIn({ 'bad.yaml': 'kind: [', 'good.yaml': topologyText('pr-dr') })
  const printed: string[] = []
  const command = topologyCommand({
    data: (text) => void printed.push(text),
    progress: () => undefined,
    complain: () => undefined,
    suppressProgress: () => undefined,
    isQuiet: false,
  })
  const check = () => command.parse(['validate', at('bad.yaml'), at('none.yaml'), at('good.yaml')], { from: 'user' })
  expect(check).toThrow(/bad\.yaml:1:.*\n.*none\.yaml cannot be read/s)
  expect(printed).toEqual([`${at('good.yaml')}: pr-dr is a topology of 3 clusters`])
})
