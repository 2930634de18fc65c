import { expect, it } from 'vitest'
import { chooseFault } from '../../../../src/lab/drills/find/find.js'
import { describeSolution, HIDDEN_FAULTS } from '../../../../src/lab/drills/find/hidden-faults.js'
import type { ReplicationLink } from '../../../../src/lab/drills/find/traffic.js'

const performance: ReplicationLink = { kind: 'performance', primary: 'A', secondary: 'C', id: 'perf-c' }
const dr: ReplicationLink = { kind: 'dr', primary: 'A', secondary: 'B', id: 'dr-b' }

const LAB = {
  name: 'one',
  clusters: ['A', 'B', 'C'].map((name, at) => ({
    name,
    apiAddress: `http://127.0.0.1:82${at}0`,
    rootToken: '',
    unsealKeys: [],
    threshold: 1,
  })),
}

const seeds = Array.from({ length: 500 }, (_, index) => String(index))

it('a seed always chooses the same hidden fault, and all seeds together choose every fault', () => {
  const chosen = seeds.map((seed) => chooseFault([performance, dr], seed))
  expect(seeds.map((seed) => chooseFault([performance, dr], seed))).toEqual(chosen)
  expect(new Set(chosen.map(({ fault }) => fault.name))).toEqual(new Set(HIDDEN_FAULTS.map(({ name }) => name)))
  expect(new Set(chosen.map(({ place }) => place.secondary))).toEqual(new Set(['B', 'C']))
})

it('a hidden fault is not planted in a lab that does not support it', () => {
  for (const seed of seeds) {
    const { fault } = chooseFault([dr], seed)
    expect(fault.kind ?? 'dr', fault.name).toBe('dr')
  }
})

it('a lab in one process gets only hidden faults that do not need a process of their own', () => {
  const chosen = seeds.map((seed) => chooseFault([performance, dr], seed, 'in-process').fault.name)
  const possible = HIDDEN_FAULTS.filter(({ needsProcess }) => !needsProcess).map(({ name }) => name)
  expect(new Set(chosen)).toEqual(new Set(possible))
  expect(possible).not.toContain('paused-server')
})

it('each hidden fault has a description, a symptom and a remedy', () => {
  for (const fault of HIDDEN_FAULTS) {
    const { what, seen, mend } = describeSolution(fault, { ...performance, isBackwards: false }, LAB)
    for (const text of [what, seen]) expect(text, fault.name).toMatch(/\b[AC]\b/)
    expect(mend.length, fault.name).toBeGreaterThan(0)
    expect([what, seen, ...mend].join(), fault.name).not.toMatch(/[{}]|undefined/)
  }
})

it('the fix of a revoked secondary has the address of each cluster, and for DR an operation token', () => {
  const fault = HIDDEN_FAULTS.find(({ name }) => name === 'revoked-secondary')
  const mend = fault && describeSolution(fault, { ...dr, isBackwards: false }, LAB).mend
  const path = 'sys/replication/dr'
  expect(mend).toEqual([
    `ACTIVATION_TOKEN="$(vault write -address=http://127.0.0.1:8200 -field=wrapping_token ${path}/primary/secondary-token id=dr-b)"`,
    'DR_OPERATION_TOKEN="$(understudy token dr-operation B --name one)"',
    `vault write -address=http://127.0.0.1:8210 ${path}/secondary/update-primary dr_operation_token="$DR_OPERATION_TOKEN" token="$ACTIVATION_TOKEN"`,
  ])
})

it('a lab without replication has no hidden fault', () => {
  expect(() => chooseFault([], '1')).toThrow('this lab has no replication')
})
