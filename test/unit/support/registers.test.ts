import { expect, test } from 'vitest'
import { Registers } from '../../simulation/registers.js'

/** The rules with which the simulation judges reads of a secondary, which may be behind. */

const PATH = 'one/a'

const written = (...values: readonly (string | undefined)[]): Registers => {
  const registers = new Registers()
  for (const value of values) {
    registers.begin(PATH, value)
    registers.acknowledged(PATH, value, true)
  }
  return registers
}

test('a secondary may be behind, but never goes back', () => {
  const registers = written('1', '2')
  expect(registers.findOlder('B', PATH, undefined)).toBeUndefined()
  expect(registers.findOlder('B', PATH, '1')).toBeUndefined()
  expect(registers.findOlder('B', PATH, '2')).toBeUndefined()
  expect(registers.findOlder('B', PATH, '1')).toBe('one/a holds 1 after 2')
  expect(registers.findOlder('C', PATH, '1')).toBeUndefined()
  expect(registers.findOlder('C', PATH, '3')).toBe('one/a holds 3, which was never written')
})

test('a value that a secondary has shown stays until its deletion is requested', () => {
  const registers = written('1')
  expect(registers.findOlder('B', PATH, '1')).toBeUndefined()
  expect(registers.findOlder('B', PATH, undefined)).toBe('one/a is gone after 1, and was never deleted')
  registers.begin(PATH, undefined)
  expect(registers.findOlder('B', PATH, undefined)).toBeUndefined()
})

test('a failover may lose values shown before it, but no values written since', () => {
  const registers = written('1')
  expect(registers.findOlder('B', PATH, '1')).toBeUndefined()
  registers.markUncertain()
  expect(registers.findOlder('B', PATH, undefined)).toBeUndefined()
  registers.begin(PATH, '2')
  registers.acknowledged(PATH, '2', true)
  expect(registers.findOlder('B', PATH, undefined)).toBeUndefined()
  expect(registers.findOlder('B', PATH, '2')).toBeUndefined()
  expect(registers.findOlder('B', PATH, undefined)).toBe('one/a is gone after 2, and was never deleted')
})
