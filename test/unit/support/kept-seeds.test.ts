import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { KeptSeeds } from '../../simulation/kept-seeds.js'

let directory = ''
let file = ''

beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'kept-seeds-'))
  file = path.join(directory, 'seeds')
})

afterEach(() => rmSync(directory, { recursive: true }))

test('failing seeds are stored across processes until they pass', () => {
  const kept = new KeptSeeds(file)
  expect(kept.all).toEqual([])
  kept.played(3, undefined)
  expect(existsSync(file)).toBe(false)
  kept.played(7, 'A has lost a write:\n  one/a')
  kept.played(12, 'another')
  kept.played(7, 'still')
  expect(readFileSync(file, 'utf8')).toBe('7 still\n12 another\n')
  const again = new KeptSeeds(file)
  expect(again.all).toEqual([7, 12])
  again.played(7, undefined)
  expect(new KeptSeeds(file).all).toEqual([12])
  again.played(12, undefined)
  expect(existsSync(file)).toBe(false)
})

test('a file in another format is not changed', () => {
  writeFileSync(file, 'shopping: milk\n')
  expect(() => new KeptSeeds(file)).toThrow(/keeps no seeds/)
})
