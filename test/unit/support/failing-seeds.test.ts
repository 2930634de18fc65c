import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { FailingSeeds } from '../../simulation/failing-seeds.js'

let directory = ''
let file = ''

beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'failing-seeds-'))
  file = path.join(directory, 'seeds')
})

afterEach(() => rmSync(directory, { recursive: true }))

test('failing seeds are stored across processes until they pass', () => {
  const failing = new FailingSeeds(file)
  expect(failing.all).toEqual([])
  failing.record(3, undefined)
  expect(existsSync(file)).toBe(false)
  failing.record(7, 'A has lost a write:\n  one/a')
  failing.record(12, 'another')
  failing.record(7, 'still')
  expect(readFileSync(file, 'utf8')).toBe('7 still\n12 another\n')
  const again = new FailingSeeds(file)
  expect(again.all).toEqual([7, 12])
  again.record(7, undefined)
  expect(new FailingSeeds(file).all).toEqual([12])
  again.record(12, undefined)
  expect(existsSync(file)).toBe(false)
})

test('a file in another format is not changed', () => {
  writeFileSync(file, 'shopping: milk\n')
  expect(() => new FailingSeeds(file)).toThrow(/is not a list of seeds/)
})
