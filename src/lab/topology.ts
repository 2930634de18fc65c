import type { Kind } from './kinds.js'

/** One replication link. Clusters are named by place, because roles move. */
export interface Link {
  readonly kind: Kind
  readonly primary: string
  readonly secondary: string
}

export interface Topology {
  readonly name: string
  readonly about: string
  readonly clusters: readonly string[]
  /** In the order in which they are made: a performance link before the DR link of the same secondary. */
  readonly links: readonly Link[]
}

const dr = (primary: string, secondary: string): Link => ({ kind: 'dr', primary, secondary })
const pr = (primary: string, secondary: string): Link => ({ kind: 'performance', primary, secondary })

export const TOPOLOGIES: readonly Topology[] = [
  { name: 'single', about: 'one cluster', clusters: ['A'], links: [] },
  { name: 'dr', about: 'a primary and its DR secondary', clusters: ['A', 'B'], links: [dr('A', 'B')] },
  { name: 'pr', about: 'a primary and a performance secondary', clusters: ['A', 'C'], links: [pr('A', 'C')] },
  {
    name: 'pr-dr',
    about: 'a primary with a DR and a performance secondary',
    clusters: ['A', 'B', 'C'],
    links: [dr('A', 'B'), pr('A', 'C')],
  },
  {
    name: 'four',
    about: 'a primary and a performance secondary, each with a DR secondary',
    clusters: ['A', 'B', 'C', 'D'],
    links: [pr('A', 'C'), dr('A', 'B'), dr('C', 'D')],
  },
  {
    name: 'six',
    about: 'a primary and two performance secondaries, each with a DR secondary',
    clusters: ['A', 'B', 'C', 'D', 'E', 'F'],
    links: [pr('A', 'C'), pr('A', 'E'), dr('A', 'B'), dr('C', 'D'), dr('E', 'F')],
  },
]

export const findTopology = (name: string): Topology | undefined =>
  TOPOLOGIES.find((topology) => topology.name === name)
