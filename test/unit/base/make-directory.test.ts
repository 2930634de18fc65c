import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { makeDirectory } from '../../../src/base/make-directory.js'

const root = mkdtempSync(path.join(tmpdir(), 'understudy-directory-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

it('makes what is missing, and takes what is there', () => {
  const directory = path.join(root, 'a', 'b', 'c')
  makeDirectory(directory, 0o700)
  makeDirectory(`${directory}${path.sep}`, 0o755)
  expect(statSync(directory).mode & 0o777).toBe(0o700)
})

it('makes nothing that a path only leads through', () => {
  makeDirectory([root, 'through', '..', 'beside'].join(path.sep))
  expect([existsSync(path.join(root, 'through')), existsSync(path.join(root, 'beside'))]).toEqual([false, true])
})

it('throws what the system says where there can be none', () => {
  const file = path.join(root, 'file')
  writeFileSync(file, '')
  expect(() => makeDirectory(path.join(file, 'below'))).toThrow(/ENOTDIR/)
  expect(() => makeDirectory(file)).toThrow(/EEXIST/)
})
