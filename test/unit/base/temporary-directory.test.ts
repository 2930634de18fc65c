import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, it } from 'vitest'
import { findLeftDirectories, makeTemporaryDirectory } from '../../../src/base/temporary-directory.js'
import { isRunning } from '../../../src/lab/processes/child-process.js'

it('leftover directories of ended processes are distinguished from directories in use', () => {
  const parent = mkdtempSync(path.join(tmpdir(), 'understudy-test-'))
  try {
    const { pid: gone } = spawnSync(process.execPath, ['-e', ''])
    const left = path.join(parent, `understudy-drill-${gone}-aB3xYz`)
    mkdirSync(left)
    mkdirSync(path.join(parent, `understudy-drill-${gone}`))
    mkdirSync(path.join(parent, `someone-drill-${gone}-aB3xYz`))
    makeTemporaryDirectory('drill', parent)
    expect(findLeftDirectories(isRunning, parent)).toEqual([left])
    expect(findLeftDirectories(isRunning, path.join(parent, 'none'))).toEqual([])
  } finally {
    rmSync(parent, { recursive: true })
  }
})
