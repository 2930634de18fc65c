import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { makeDirectory } from '../../../src/base/make-directory.js'

const root = mkdtempSync(path.join(tmpdir(), 'understudy-directory-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

it('makeDirectory creates missing directories and accepts existing ones', () => {
  const directory = path.join(root, 'a', 'b', 'c')
  makeDirectory(directory, 0o700)
  makeDirectory(`${directory}${path.sep}`, 0o755)
  expect(statSync(directory).mode & 0o777).toBe(0o700)
})

it('makeDirectory creates no directory that ".." in the path leaves again', () => {
  makeDirectory([root, 'through', '..', 'beside'].join(path.sep))
  expect([existsSync(path.join(root, 'through')), existsSync(path.join(root, 'beside'))]).toEqual([false, true])
})

it('makeDirectory throws the error of the system', () => {
  const file = path.join(root, 'file')
  writeFileSync(file, '')
  expect(() => makeDirectory(path.join(file, 'below'))).toThrow(/ENOTDIR/)
  expect(() => makeDirectory(file)).toThrow(/EEXIST/)
})
