import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { LabHome } from '../support/lab-home.js'

const NAMED = ['--name', 'one'] as const

it('drill find injects a fault that only its symptoms show, and verifies the fix', async () => {
  await using home = new LabHome()
  const find = (...args: string[]) => home.run('drill', 'find', ...args, ...NAMED)
  expect((await home.run('up', 'pr-dr', '--ports', 'random', ...NAMED)).status).toBe(0)
  expect((await find('--check')).stderr).toContain('has no hidden fault')

  const hidden = await find('--seed', '5')
  expect(hidden.status, hidden.stderr).toBe(0)
  expect(hidden.stdout).toContain('seed 5')
  expect(hidden.stdout).not.toContain('seal')
  expect(readFileSync(path.join(home.labs, 'one', 'find'), 'utf8')).not.toContain('seal')
  expect((await find('--seed', '6')).status, 'one at a time').toBe(5)
  const early = await find('--check')
  expect(early.status).toBe(3)
  expect(early.stderr).toContain('Not fixed yet: C responds, but serves no clients')
  expect((await home.run('unseal', 'C', ...NAMED)).status).toBe(0)
  const judged = await find('--check')
  expect(judged.status, judged.stderr).toBe(0)
  expect(judged.stdout).toContain('The fault was: C was sealed')

  // The fault of a link is healed with the normal commands, and is not listed.
  expect((await find('--seed', '2')).status).toBe(0)
  expect((await home.run('fault', 'ls', '--json', ...NAMED)).stdout.trim()).toBe('[]')
  const status = () => home.run('status', '--json', ...NAMED)
  await expect.poll(async () => (await status()).status, { message: 'somebody misses the other' }).toBe(2)
  expect((await status()).stdout).not.toContain('partition')
  expect((await home.run('events', ...NAMED)).stdout).not.toContain('partition')
  expect((await home.run('heal', 'A', 'B', ...NAMED)).stderr).toContain('partition')
  expect((await find('--check')).stdout).toContain('all traffic from B to A was dropped')

  expect((await find('--seed', '14')).status).toBe(0)
  const told = await find('--give-up')
  expect(told.stdout).toContain('the server of C was stopped')
  expect(told.stdout).toContain('understudy start C')
  expect(told.stdout).toContain('To check your fix: understudy drill find --check --name one')
  expect((await find('--seed', '3')).stderr).toContain('the lab is not healthy')
  expect((await find('--check')).status).toBe(3)
  expect((await home.run('start', 'C', ...NAMED)).status).toBe(0)
  expect((await find('--check')).stdout).toContain('The fault was: the server of C was stopped')

  expect((await find('--seed', '5')).status).toBe(0)
  expect((await home.run('reset', '--yes', ...NAMED)).status).toBe(0)
  expect((await find('--check')).stderr, 'a reset removes the fault').toContain('has no hidden fault')
  expect((await home.run('down', 'one')).status).toBe(0)
})
