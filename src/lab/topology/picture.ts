import type { WiredClusters } from '../model/cluster.js'
import { KIND_WORDS } from '../model/kinds.js'
import type { Link } from '../model/topology.js'
import { topologyOf } from './catalogue.js'

/** Draws a lab as it was created: a tree of primaries and secondaries, with addresses. */
export const drawLab = (lab: WiredClusters): string =>
  drawTree(
    lab.clusters.map(({ name }) => name),
    topologyOf(lab)?.links ?? [],
    (name) => lab.clusters.find((cluster) => cluster.name === name)?.apiAddress ?? '',
  )

/** Draws one line per cluster, readable in terminals, logs and mails. */
export const drawTree = (
  clusters: readonly string[],
  links: readonly Link[],
  noteOf: (cluster: string) => string,
): string => {
  const draw = (name: string, indent: string): string[] => {
    const below = links.filter(({ primary }) => primary === name)
    return below.flatMap((link, index) => {
      const isLast = index === below.length - 1
      const line = `${indent}${isLast ? '└' : '├'}── ${KIND_WORDS[link.kind].padEnd(11)} ──▶ ${link.secondary}  ${noteOf(link.secondary)}`
      return [line.trimEnd(), ...draw(link.secondary, `${indent}${isLast ? ' ' : '│'}   `)]
    })
  }
  const secondaries = new Set(links.map(({ secondary }) => secondary))
  const roots = clusters.filter((name) => !secondaries.has(name))
  return roots.flatMap((name) => [`${name}  ${noteOf(name)}`.trimEnd(), ...draw(name, '')]).join('\n')
}
