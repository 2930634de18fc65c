import type { WiredClusters } from './cluster.js'
import { KIND_WORDS } from './kinds.js'
import { findTopology } from './topology.js'

/**
 * The topology as text: a tree from the primary down, one line per cluster, so that it reads the same in a terminal, a
 * log and a mail.
 */
export const drawLab = (lab: WiredClusters): string => {
  const links = findTopology(lab.topology)?.links ?? []
  const addressOf = (name: string) => lab.clusters.find((cluster) => cluster.name === name)?.apiAddress ?? ''
  const draw = (name: string, indent: string): string[] => {
    const below = links.filter(({ primary }) => primary === name)
    return below.flatMap((link, index) => {
      const isLast = index === below.length - 1
      const line = `${indent}${isLast ? '└' : '├'}── ${KIND_WORDS[link.kind].padEnd(11)} ──▶ ${link.secondary}  ${addressOf(link.secondary)}`
      return [line, ...draw(link.secondary, `${indent}${isLast ? ' ' : '│'}   `)]
    })
  }
  const secondaries = new Set(links.map(({ secondary }) => secondary))
  const roots = lab.clusters.filter(({ name }) => !secondaries.has(name))
  return roots.flatMap(({ name, apiAddress }) => [`${name}  ${apiAddress}`, ...draw(name, '')]).join('\n')
}
