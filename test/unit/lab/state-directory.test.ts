import { userInfo } from 'node:os'
import path from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { commandIn } from '../../../src/lab/model/lab-directory.js'
import { currentLab, stateDirectory } from '../../../src/lab/model/state-directory.js'

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

test('the current lab is that in UNDERSTUDY_LAB, and default if the variable is empty', () => {
  for (const [value, lab] of [
    ['drill', 'drill'],
    ['', 'default'],
  ] as const) {
    vi.stubEnv('UNDERSTUDY_LAB', value)
    expect(currentLab()).toBe(lab)
  }
})

test('a printed command names its lab, unless no shell has another current lab', () => {
  vi.stubEnv('UNDERSTUDY_LAB', '')
  expect(['default', 'drill'].map((lab) => commandIn(lab, 'status'))).toEqual([
    'understudy status',
    'understudy status --name drill',
  ])
  vi.stubEnv('UNDERSTUDY_LAB', 'drill')
  expect(['default', 'drill'].map((lab) => commandIn(lab, 'status'))).toEqual([
    'understudy status --name default',
    'understudy status --name drill',
  ])
})

test('lab records are independent of the working directory', () => {
  expect(from('state', '/home/ann')).toBe('/home/ann/.local/state/understudy')
  expect(from('', '')).toBe(path.join(userInfo().homedir, '.local/state/understudy'))
  expect(from('', 'ann')).toBe(path.join(userInfo().homedir, '.local/state/understudy'))
})
