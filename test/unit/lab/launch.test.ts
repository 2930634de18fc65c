import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { LAB_DAEMON_NODE_OPTIONS } from '../../../src/lab/processes/launch.js'

test('this version of Node supports every option of the lab daemon', () => {
  const { status, stderr } = spawnSync(process.execPath, [...LAB_DAEMON_NODE_OPTIONS, '-e', ''], { encoding: 'utf8' })
  expect(stderr).toBe('')
  expect(status).toBe(0)
})
