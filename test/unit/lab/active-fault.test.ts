import { describe, expect, it } from 'vitest'
import { type ActiveFault, directionState, downsOf } from '../../../src/lab/daemon/active-fault.js'
import type { LinkFault } from '../../../src/lab/proxy/link-faults.js'
import { dialRoutesOf, planRoutes, type Reach, routeCount } from '../../../src/lab/model/routes.js'

const active = (id: number, fault: LinkFault, isOneWay = false): ActiveFault => ({
  id,
  between: ['A', 'C'],
  isOneWay,
  fault,
})

describe('faults of a link', () => {
  it('faults of a link affect both directions, whichever side dials, and no other link', () => {
    const cut = [active(1, { name: 'partition' })]
    for (const [from, to] of [['A', 'C'] as const, ['C', 'A'] as const]) {
      for (const direction of ['up', 'down'] as const) {
        expect(directionState(cut, { from: from, to: to }, direction).passage).toBe('partitioned')
        expect(directionState(cut, { from: from, to: 'B' }, direction).passage).toBe('open')
      }
    }
  })

  it('one-way faults affect only data from the first cluster', () => {
    const cut = [active(1, { name: 'partition' }, true)]
    expect(directionState(cut, { from: 'A', to: 'C' }, 'up').passage).toBe('partitioned')
    expect(directionState(cut, { from: 'A', to: 'C' }, 'down').passage).toBe('open')
    expect(directionState(cut, { from: 'C', to: 'A' }, 'up').passage).toBe('open')
    expect(directionState(cut, { from: 'C', to: 'A' }, 'down').passage).toBe('partitioned')
  })

  it('faults add up: a partition overrides a rate, and the newer of two with the same name applies', () => {
    const faults = [
      active(1, { name: 'hold' }),
      active(2, { name: 'latency', ms: 5 }),
      active(3, { name: 'latency', ms: 80, jitterMs: 20 }),
      active(4, { name: 'bandwidth', bytesPerSecond: 1000 }),
    ]
    expect(directionState(faults, { from: 'A', to: 'C' }, 'up')).toEqual({
      passage: 'held',
      faults: { latency: { ms: 80, jitterMs: 20 }, bandwidth: { bytesPerSecond: 1000 } },
    })
    expect(directionState([...faults, active(5, { name: 'partition' })], { from: 'A', to: 'C' }, 'up').passage).toBe(
      'partitioned',
    )
    expect(downsOf([active(6, { name: 'down' }, true)], { from: 'A', to: 'C' })).toHaveLength(1)
    expect(downsOf([active(6, { name: 'down' }, true)], { from: 'C', to: 'A' })).toHaveLength(0)
  })
})

it('every cluster has its own proxy for every address of the others', () => {
  const reaches = new Map(
    ['A', 'B', 'C'].map((name, index) => [name, { ports: { api: 100 + index, cluster: 200 + index }, hidden: [] }]),
  )
  const free = Array.from({ length: routeCount(3) }, (_, index) => 1000 + index)
  const routes = planRoutes(reaches, free)
  expect(new Set(routes.map(({ port }) => port))).toEqual(new Set(free))
  expect(dialRoutesOf(routes, 'A')).toHaveLength(4)
  expect(dialRoutesOf(routes, 'A').map((route) => route.split('=')[0])).toEqual(
    [101, 201, 102, 202].map((port) => `127.0.0.1:${port}`),
  )
})

it('a load balancer routes to one server, or to the active one of several', () => {
  const pair = (api: number) => ({ api, cluster: api + 1 })
  const ofB = { cluster: 'B', hidden: [], balancer: pair(900) }
  const reaches = new Map<string, Reach>([
    ['A', { ports: pair(100), hidden: [], balancer: pair(800) }],
    ['B1', { ...ofB, ports: pair(200) }],
    ['B2', { ...ofB, ports: pair(300) }],
  ])
  const routes = planRoutes(reaches, []).filter(({ from }) => from === 'outside')
  expect(routes.map(({ to, port, target, behind: nodes }) => [to, port, target ?? nodes])).toEqual([
    ['A', 800, '127.0.0.1:100'],
    ['A', 801, '127.0.0.1:101'],
    [
      'B',
      900,
      [
        { node: 'B1', port: 200 },
        { node: 'B2', port: 300 },
      ],
    ],
    [
      'B',
      901,
      [
        { node: 'B1', port: 201 },
        { node: 'B2', port: 301 },
      ],
    ],
  ])
})
