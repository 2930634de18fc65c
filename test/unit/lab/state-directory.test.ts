import { userInfo } from 'node:os'
import path from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { stateDirectory } from '../../../src/lab/model/state-directory.js'

afterEach(() => {
  vi.unstubAllEnvs()
})

const from = (stateHome: string, home: string): string => {
  vi.stubEnv('XDG_STATE_HOME', stateHome)
  vi.stubEnv('HOME', home)
  return stateDirectory()
}

test('lab records are stored in the chosen directory', () => {
  expect(from('/state', '/home/ann')).toBe('/state/understudy')
  expect(from('', '/home/ann')).toBe('/home/ann/.local/state/understudy')
})

test('lab records are independent of the working directory', () => {
  expect(from('state', '/home/ann')).toBe('/home/ann/.local/state/understudy')
  expect(from('', '')).toBe(path.join(userInfo().homedir, '.local/state/understudy'))
  expect(from('', 'ann')).toBe(path.join(userInfo().homedir, '.local/state/understudy'))
})
