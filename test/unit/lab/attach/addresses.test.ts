import { expect, it } from 'vitest'
import { addressesOfServers, groupServers, parseAddresses } from '../../../../src/lab/attach/attach.js'

it('attach accepts clusters and nodes by name, in any order', () => {
  const addresses = parseAddresses(['A2=http://two:8200/', 'B=https://b:8200', 'A1=http://one:8200'])
  expect(addresses.get('A2')).toBe('http://two:8200')
  expect([...groupServers(addresses.keys())]).toEqual([
    ['A', ['A1', 'A2']],
    ['B', ['B']],
  ])
})

it.each([
  [['A=localhost:8200'], 'not of the form'],
  [['A12=http://a:8200'], 'not of the form'],
  [['A=http://a:8200', 'A=http://b:8200'], 'cluster A is specified twice'],
  [['A1=http://a:8200', 'A1=http://b:8200'], 'node A1 is specified twice'],
  [['A=http://a:8200', 'A2=http://b:8200'], 'A is specified in addition to A2; name the nodes of a cluster A1, A2'],
  [['A1=http://a:8200', 'B=http://b:8200'], 'A has one server: name it A'],
])('attach rejects %j', (given, why) => {
  expect(() => groupServers(parseAddresses(given).keys())).toThrow(why)
})

it('attach finds the servers of a cluster in its record', () => {
  const nodes = ['A1', 'A2'].map((name) => ({ name, apiAddress: `http://${name}:8200` }))
  expect(addressesOfServers({ name: 'A', apiAddress: 'http://A1:8200', nodes })).toEqual([
    ['A1', 'http://A1:8200'],
    ['A2', 'http://A2:8200'],
  ])
  expect(addressesOfServers({ name: 'B', apiAddress: 'http://b:8200' })).toEqual([['B', 'http://b:8200']])
  expect(addressesOfServers({ name: 'B', apiAddress: undefined })).toEqual([])
})
