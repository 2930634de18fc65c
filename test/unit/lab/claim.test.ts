import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { claimLab, findHolder } from '../../../src/lab/processes/claim.js'
import { labDirectory } from '../../../src/lab/model/lab-directory.js'
import { listLabs } from '../../../src/lab/model/state-directory.js'
import { createProcessTable, identify, isAlive, type ProcessTable } from '../../../src/lab/model/process-table.js'

let home = ''
beforeEach(() => {
  home = mkdtempSync(path.join(tmpdir(), 'understudy-claim-'))
  vi.stubEnv('XDG_STATE_HOME', home)
})
afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(home, { recursive: true, force: true })
})

const ME = { pid: 10, startTime: 'ten' }
const OTHER = { pid: 20, startTime: 'twenty' }

/** A machine on which only these processes run. */
const living = (...processes: (typeof ME)[]): ProcessTable => {
  const list = processes.map((one) => ({ ...one, isFrozen: false, hasArgument: () => false }))
  return { find: (pid) => list.find((one) => one.pid === pid), list: () => list }
}

it('a claim excludes all others until it is released, and leaves nothing', () => {
  const table = living(ME, OTHER)
  const claim = claimLab('x', 'started', { me: ME, table })
  expect(() => claimLab('x', 'stopped', { me: OTHER, table })).toThrow('the lab "x" is being started by process 10')
  expect(findHolder('x', table)).toMatchObject({ pid: 10, doing: 'started' })
  claim[Symbol.dispose]()
  expect(existsSync(labDirectory('x'))).toBe(false)
  claimLab('x', 'stopped', { me: OTHER, table })[Symbol.dispose]()
  expect(listLabs()).toEqual([])
})

it('a claim to operate a lab excludes other operations and nothing else', () => {
  const table = living(ME, OTHER)
  const operation = claimLab('x', 'operated', { me: ME, table })
  expect(() => claimLab('x', 'operated', { me: OTHER, table })).toThrow('the lab "x" is being operated by process 10')
  expect(findHolder('x', table)).toBeUndefined()
  const change = claimLab('x', 'changed', { me: OTHER, table })
  operation[Symbol.dispose]()
  claimLab('x', 'operated', { me: OTHER, table })[Symbol.dispose]()
  change[Symbol.dispose]()
  expect(existsSync(labDirectory('x'))).toBe(false)
})

it('a claim ends with its process, even if another process takes its number', () => {
  claimLab('x', 'started', { me: ME, table: living(ME) })
  const table = living({ pid: 10, startTime: 'later' }, OTHER)
  expect(findHolder('x', table)).toBeUndefined()
  const claim = claimLab('x', 'stopped', { me: OTHER, table })
  expect(findHolder('x', table)).toMatchObject({ pid: 20 })
  claim[Symbol.dispose]()
  expect(readdirSync(path.dirname(labDirectory('x')))).toEqual([])
})

it.skipIf(!existsSync('/dev/full'))(
  'a full disk lets a lab be stopped, and prevents that it is started or changed',
  () => {
    const fill = () => {
      mkdirSync(labDirectory('x'), { recursive: true })
      symlinkSync('/dev/full', path.join(labDirectory('x'), `draft-${ME.pid}`))
    }
    for (const doing of ['started', 'changed'] as const) {
      fill()
      expect(() => claimLab('x', doing, { me: ME, table: living(ME) })).toThrow('ENOSPC')
      expect(listLabs()).toEqual([])
    }
    fill()
    claimLab('x', 'operated', { me: ME, table: living(ME) })[Symbol.dispose]()
    expect(listLabs()).toEqual([])
    fill()
    const claim = claimLab('x', 'stopped', { me: ME, table: living(ME, OTHER) })
    claimLab('x', 'started', { me: OTHER, table: living(ME, OTHER) })
    claim[Symbol.dispose]()
    expect(findHolder('x', living(ME, OTHER))).toMatchObject(OTHER)
    fill()
    expect(() => claimLab('x', 'stopped', { me: ME, table: living(ME, OTHER) })).toThrow(
      'is being started by process 20',
    )
  },
)

it('a claim yields to a lower number that came meanwhile', () => {
  const table = living(ME, OTHER)
  mkdirSync(labDirectory('x'), { recursive: true })
  writeFileSync(path.join(labDirectory('x'), 'claim-5'), 'not a claim')
  claimLab('x', 'changed', { me: ME, table })
  expect(readdirSync(labDirectory('x')).sort()).toEqual(['claim-5', 'claim-6'])
  expect(() => claimLab('x', 'stopped', { me: OTHER, table })).toThrow('is being changed by process 10')
})

it('a claim identifies its process by pid and start time', () => {
  const table = createProcessTable()
  const me = identify(table, process.pid)
  expect(me && isAlive(table, me)).toBe(true)
  expect(isAlive(table, { pid: process.pid, startTime: 'another' })).toBe(false)
  expect(table.find(process.pid)?.hasArgument('no such argument')).toBe(false)
  expect(table.list().map(({ pid }) => pid)).toContain(process.pid)
})
