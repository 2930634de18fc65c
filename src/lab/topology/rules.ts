import { alternatives } from '../../base/counted.js'
import type { Problem } from '../documents/yaml-document.js'
import { KIND_WORDS } from '../model/kinds.js'
import { type ClusterPlan, findNameClashes, type Link, NODE_COUNTS } from '../model/topology.js'

/** The settings of one cluster, or the defaults of all clusters, as a topology file contains them. */
export type PlanFile = Omit<ClusterPlan, 'seal' | 'ports'> & {
  readonly seal?: string
  readonly ports?: { readonly api: number; readonly cluster?: number }
}

export type LinkFile = Omit<Link, 'latencyMs' | 'jitterMs'> & { readonly latency?: string; readonly jitter?: string }

/** The content of a topology file that passed schema validation. */
export interface TopologyFile {
  readonly name: string
  readonly about?: string
  readonly defaults?: PlanFile
  readonly clusters: Readonly<Record<string, PlanFile | null>>
  readonly links?: readonly LinkFile[]
}

type Path = readonly (string | number)[]
export type PositionOf = (path: Path) => { readonly line: number; readonly column: number }
type Finding = readonly [path: Path, text: string]

const SHARES_MAX = 255

/** Finds values that contradict each other, which a schema cannot describe. */
export const findTopologyProblems = (
  { clusters, links = [], defaults }: Omit<TopologyFile, 'name'>,
  positionOf: PositionOf,
): Problem[] => {
  const names = Object.keys(clusters)
  const clashes = findNameClashes(names, (name) => clusters[name]?.nodes ?? defaults?.nodes ?? 1)
  return [
    ...when(names.length === 0, ['clusters'], 'clusters must have at least one cluster'),
    ...checkPlan(defaults, ['defaults']),
    ...names.flatMap((name) => checkPlan(clusters[name], ['clusters', name])),
    ...clashes.map(({ cluster, text }): Finding => [['clusters', cluster], text]),
    ...checkPorts(clusters),
    ...names.flatMap((name) => checkSeed(name, clusters[name]?.seed, links)),
    ...links.flatMap((_, index) => checkLink(links, index, names)),
    ...links.flatMap((_, index) => checkCycle(links, index)),
  ].map(([path, text]) => ({ ...positionOf(path), text }))
}

const when = (isWrong: boolean, path: Path, text: string): Finding[] => (isWrong ? [[path, text]] : [])

const checkPlan = (plan: PlanFile | null | undefined, path: Path): Finding[] => {
  const { nodes = 1, seal = '', ports } = plan ?? {}
  const [, shares = 1, threshold = 1] = (/ (\d+)\/(\d+)$/.exec(seal) ?? []).map(Number)
  const at = (field: string) => [...path, field]
  return [
    ...when(!NODE_COUNTS.includes(nodes), at('nodes'), `nodes must be ${alternatives(NODE_COUNTS)}`),
    ...when(nodes > 1 && ports !== undefined, at('ports'), 'ports require one node: remove ports, or set nodes to 1'),
    ...when(
      shares < 1 || shares > SHARES_MAX || threshold < 1 || threshold > shares,
      at('seal'),
      `a threshold of ${threshold} with ${shares} shares is invalid: use at most ${SHARES_MAX} shares, and a threshold from 1 to this number`,
    ),
    ...when(threshold === 1 && shares > 1, at('seal'), 'several shares require a threshold of at least 2'),
  ]
}

const checkPorts = (clusters: TopologyFile['clusters']): Finding[] => {
  const owners = new Map<number, string>()
  return Object.entries(clusters).flatMap(([name, plan]) => {
    if (!plan?.ports) return []
    const path = ['clusters', name, 'ports']
    const { api, cluster = api + 1 } = plan.ports
    return [api, cluster].flatMap((port) => {
      const owner = owners.get(port)
      owners.set(port, name)
      if (port > 65_535) return when(true, path, `port ${port} is invalid: the maximum is 65535`)
      return when(owner !== undefined, path, `cluster ${owner} already uses port ${port}`)
    })
  })
}

const checkSeed = (name: string, seed: PlanFile['seed'], links: readonly LinkFile[]): Finding[] => {
  const path = ['clusters', name, 'seed']
  const kinds = links.filter(({ secondary }) => secondary === name).map(({ kind }) => kind)
  if (seed && kinds.includes('dr'))
    return [[path, `${name} is a DR secondary and cannot have a seed: add the seed to its primary`]]
  if (!seed || kinds.length > 0) return []
  const mounts = Object.keys(seed.mounts ?? {}).map((mount) => `${mount.replace(/\/$/, '')}/`)
  return Object.keys(seed.secrets ?? {})
    .filter((secret) => !mounts.some((mount) => secret.startsWith(mount)))
    .map((secret) => [[...path, 'secrets', secret], `${name} has no mount for "${secret}": add it to seed.mounts`])
}

const checkLink = (links: readonly LinkFile[], index: number, names: readonly string[]): Finding[] => {
  const link = links[index]
  if (!link) return []
  const { kind, primary, secondary, filter, latency, jitter } = link
  const path = ['links', index]
  const kindsOf = (name: string, some = links) =>
    some.filter((each) => each.secondary === name).map((each) => each.kind)
  const earlier = kindsOf(secondary, links.slice(0, index))
  const kindsOfPrimary = kindsOf(primary)
  const word = KIND_WORDS[kind]
  const otherKind = kind === 'dr' ? 'performance' : 'dr'
  return [
    ...[primary, secondary].flatMap((name) =>
      when(!names.includes(name), path, `there is no cluster ${name}; there are ${names.join(', ')}`),
    ),
    ...when(primary === secondary, path, `${primary} cannot replicate from itself`),
    ...when(kind === 'dr' && Boolean(filter), [...path, 'filter'], 'only performance links can have filters'),
    ...when(jitter !== undefined && latency === undefined, [...path, 'jitter'], 'jitter requires latency'),
    ...when(earlier.includes(kind), path, `${secondary} already has another ${word} primary`),
    ...when(earlier.includes(otherKind), path, `${secondary} cannot be a DR and a performance secondary at once`),
    ...when(kindsOfPrimary.includes(kind), path, `${primary} is a ${word} secondary and cannot be a ${word} primary`),
    ...when(
      kind === 'performance' && kindsOfPrimary.includes('dr'),
      path,
      `${primary} is a DR secondary, and no cluster can replicate from a DR secondary`,
    ),
  ]
}

const checkCycle = (links: readonly LinkFile[], index: number): Finding[] => {
  const { primary, secondary } = links[index] ?? { primary: '', secondary: '' }
  const seen = new Set<string>()
  const isBelowSecondary = (name: string): boolean => {
    if (name === secondary) return true
    if (seen.has(name)) return false
    seen.add(name)
    return links.some((link) => link.secondary === name && isBelowSecondary(link.primary))
  }
  const text = `${secondary} would replicate from itself through ${primary}`
  return when(primary !== secondary && isBelowSecondary(primary), ['links', index], text)
}
