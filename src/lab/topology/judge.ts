import type { Kind } from '../model/kinds.js'
import { findNameClashes, NODE_COUNTS } from '../model/topology.js'
import type { Problem } from '../documents/yaml-document.js'

type Path = readonly (string | number)[]
type PlaceOf = (path: Path) => { readonly line: number; readonly column: number }

/** The parts of a topology file that are validated after the schema. */
interface Judged {
  readonly defaults?: Planned
  readonly clusters: Readonly<Record<string, Planned | null>>
  readonly links?: readonly JudgedLink[]
}

interface Planned {
  readonly nodes?: number
  readonly seal?: string
  readonly ports?: { readonly api: number; readonly cluster?: number }
  readonly seed?: { readonly mounts?: object | null; readonly secrets?: object | null }
}

interface JudgedLink {
  readonly kind: Kind
  readonly primary: string
  readonly secondary: string
  readonly filter?: object | undefined
  readonly latency?: string | undefined
  readonly jitter?: string | undefined
}

const SHARES_MAX = 255

/** Finds problems that a schema cannot describe: inconsistent values. */
export const findTopologyProblems = (file: Judged, placeOf: PlaceOf): Problem[] => {
  const { clusters, links = [], defaults } = file
  const names = Object.keys(clusters)
  const plans: [Path, Planned | undefined][] = [
    [['defaults'], defaults],
    ...names.map((name): [Path, Planned | undefined] => [['clusters', name], clusters[name] ?? undefined]),
  ]
  const problem = (path: Path, text: string): Problem => ({ ...placeOf(path), text })
  return [
    ...(names.length === 0 ? [problem(['clusters'], 'clusters must have at least one')] : []),
    ...plans.flatMap(([path, plan]) => (plan ? judgePlan(plan, path, problem) : [])),
    ...findNameClashes(names, (name) => clusters[name]?.nodes ?? defaults?.nodes ?? 1).map(({ cluster, text }) =>
      problem(['clusters', cluster], text),
    ),
    ...judgePorts(clusters, problem),
    ...judgeSeeds(clusters, links, problem),
    ...links.flatMap((link, index) => judgeLink(link, index, names, links, problem)),
    ...judgeCircles(links, problem),
  ]
}

type Report = (path: Path, text: string) => Problem

const judgePlan = ({ nodes = 1, seal = '', ports }: Planned, path: Path, problem: Report): Problem[] => {
  const [, shares = 1, threshold = 1] = (/ (\d+)\/(\d+)$/.exec(seal) ?? []).map(Number)
  return [
    ...(NODE_COUNTS.some((one) => one === nodes)
      ? []
      : [problem([...path, 'nodes'], `nodes must be ${NODE_COUNTS.join(', ')}`)]),
    ...(nodes > 1 && ports ? [problem([...path, 'ports'], 'ports are chosen for several nodes: nodes must be 1')] : []),
    ...(shares < 1 || shares > SHARES_MAX || threshold < 1 || threshold > shares
      ? [
          problem(
            [...path, 'seal'],
            `a threshold of ${threshold} does not go with ${shares} shares (1 to ${SHARES_MAX})`,
          ),
        ]
      : []),
    ...(threshold === 1 && shares > 1
      ? [problem([...path, 'seal'], 'several shares need a threshold of at least 2')]
      : []),
  ]
}

const judgePorts = (clusters: Judged['clusters'], problem: Report): Problem[] => {
  const owners = new Map<number, string>()
  return Object.entries(clusters).flatMap(([name, plan]) => {
    if (!plan?.ports) return []
    const { api, cluster = api + 1 } = plan.ports
    return [api, cluster].flatMap((port) => {
      const owner = owners.get(port)
      owners.set(port, name)
      if (port > 65_535) return [problem(['clusters', name, 'ports'], `there is no port ${port}`)]
      return owner ? [problem(['clusters', name, 'ports'], `port ${port} is that of cluster ${owner} already`)] : []
    })
  })
}

const judgeSeeds = (clusters: Judged['clusters'], links: readonly JudgedLink[], problem: Report): Problem[] =>
  Object.entries(clusters).flatMap(([name, plan]) => {
    if (!plan?.seed) return []
    const path = ['clusters', name, 'seed']
    if (links.some(({ kind, secondary }) => kind === 'dr' && secondary === name))
      return [problem(path, `${name} is a DR secondary, which takes nothing but what its primary has: seed that one`)]
    const mounts = Object.keys(plan.seed.mounts ?? {}).map((mount) => `${mount.replace(/\/$/, '')}/`)
    if (links.some(({ secondary }) => secondary === name)) return []
    return Object.keys(plan.seed.secrets ?? {})
      .filter((secret) => !mounts.some((mount) => secret.startsWith(mount)))
      .map((secret) => problem([...path, 'secrets', secret], `no mount of ${name} holds "${secret}"`))
  })

const judgeLink = (
  link: JudgedLink,
  index: number,
  names: readonly string[],
  links: readonly JudgedLink[],
  problem: Report,
): Problem[] => {
  const { kind, primary, secondary, filter, latency, jitter } = link
  const path = ['links', index]
  const before = links.slice(0, index)
  const missing = [primary, secondary].filter((name) => !names.includes(name))
  return [
    ...missing.map((name) => problem(path, `there is no cluster ${name}; there are ${names.join(', ')}`)),
    ...(primary === secondary ? [problem(path, `${primary} cannot follow itself`)] : []),
    ...(filter && kind === 'dr' ? [problem([...path, 'filter'], 'only performance links have filters')] : []),
    ...(jitter !== undefined && latency === undefined
      ? [problem([...path, 'jitter'], 'there is no jitter without a latency')]
      : []),
    ...(before.some((other) => other.kind === kind && other.secondary === secondary)
      ? [problem(path, `${secondary} follows another ${kind} primary already`)]
      : []),
    ...(before.some((other) => other.secondary === secondary && other.kind !== kind)
      ? [problem(path, `${secondary} cannot be a DR and a performance secondary at once`)]
      : []),
    ...(links.some((other) => other.kind === kind && other.secondary === primary)
      ? [problem(path, `${primary} is a ${kind} secondary itself and cannot be a ${kind} primary`)]
      : []),
    ...(kind === 'performance' && links.some((other) => other.kind === 'dr' && other.secondary === primary)
      ? [problem(path, `${primary} is a DR secondary, which nothing can follow`)]
      : []),
  ]
}

const judgeCircles = (links: readonly JudgedLink[], problem: Report): Problem[] =>
  links.flatMap(({ primary, secondary }, index) => {
    const seen = new Set<string>()
    const follow = (name: string): boolean => {
      if (name === secondary) return true
      if (seen.has(name)) return false
      seen.add(name)
      return links.some((link) => link.secondary === name && follow(link.primary))
    }
    return primary !== secondary && follow(primary)
      ? [problem(['links', index], `${secondary} would follow itself by way of ${primary}`)]
      : []
  })
