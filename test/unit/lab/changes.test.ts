import { expect, it } from 'vitest'
import { changesBetween, mergeObservation, type Observation, type ObservedRole } from '../../../src/lab/daemon/watch.js'

const OFF: ObservedRole = { mode: 'disabled', state: '' }
const well: Observation = {
  process: 'running',
  seal: 'unsealed',
  roles: { dr: { mode: 'secondary', state: 'stream-wals, ready' }, performance: OFF },
}
const withDr = (dr: ObservedRole): Observation => ({ ...well, roles: { dr, performance: OFF } })
const between = (before: Observation, after: Observation) =>
  changesBetween('B', before, after).map(({ kind, details }) => [kind, details])

it('the changes between two samples are reported, and none without a change', () => {
  expect(between(well, well)).toEqual([])
  expect(between(well, { ...well, process: 'silent' })).toEqual([['process', { from: 'running', to: 'silent' }]])
  expect(between(well, { ...well, seal: 'sealed' })).toEqual([['seal', { from: 'unsealed', to: 'sealed' }]])
  expect(between(well, withDr({ mode: 'secondary', state: 'merkle-diff, ready' }))).toEqual([
    ['replication', { replication: 'dr', from: 'stream-wals, ready', to: 'merkle-diff, ready' }],
  ])
  expect(between(well, withDr({ mode: 'primary', state: '' }))).toEqual([
    ['role', { replication: 'dr', from: 'secondary', to: 'primary' }],
  ])
  expect(between(withDr({ mode: 'bootstrapping', state: '' }), well)).toEqual([
    ['role', { replication: 'dr', from: 'bootstrapping', to: 'secondary', state: 'stream-wals, ready' }],
  ])
})

it('the changes of a server that was unreachable refer to its last known state', () => {
  const gone = mergeObservation(well, { process: 'stopped' })
  expect(between(well, gone)).toEqual([['process', { from: 'running', to: 'stopped' }]])
  const back = mergeObservation(gone, withDr({ mode: 'primary', state: '' }))
  expect(between(gone, back).map(([kind]) => kind)).toEqual(['process', 'role'])
  expect(between({ process: 'stopped' }, { process: 'running', seal: 'uninitialized' }).map(([kind]) => kind)).toEqual([
    'process',
  ])
})

it('the first roles of a server are reported, unless its replication is disabled', () => {
  const sealed: Observation = { process: 'running', seal: 'uninitialized' }
  expect(between(sealed, mergeObservation(sealed, withDr({ mode: 'primary', state: '' })))).toEqual([
    ['seal', { from: 'uninitialized', to: 'unsealed' }],
    ['role', { replication: 'dr', from: 'unknown', to: 'primary' }],
  ])
  expect(between(sealed, mergeObservation(sealed, withDr(OFF))).map(([kind]) => kind)).toEqual(['seal'])
})

it('a new active node is reported, but not for a cluster with one server', () => {
  const standby: Observation = { ...well, node: 'standby' }
  const active: Observation = { ...well, node: 'active' }
  const away = mergeObservation(active, { process: 'stopped' })
  const told = (name: string, before: Observation, after: Observation) =>
    changesBetween(name, before, after).map(({ cluster, kind, details }) => [cluster, kind, details])
  expect(told('A2', standby, active)).toEqual([['A2', 'node', { from: 'standby', to: 'active' }]])
  expect(told('A2', away, standby)).toContainEqual(['A2', 'node', { from: 'active', to: 'standby' }])
  expect(told('A', standby, active)).toEqual([])
})
