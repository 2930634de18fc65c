import { type ActiveFault, isOfLink, isShown, meetsDirection } from './active-fault.js'
import type { NamedProxy } from './open-routes.js'

type Place = Pick<NamedProxy, 'name' | 'from' | 'to' | 'fromNode' | 'toNode'>

/**
 * Formats link faults as Prometheus metrics, 0 for a link without a fault. Links of clusters and nodes are labeled by their ends,
 * and links of proxies that clients added by proxy name. Hidden faults are omitted.
 */
export const linkMetrics = (proxies: readonly Place[], active: readonly ActiveFault[]): string => {
  const faults = active.filter(isOfLink).filter(isShown)
  const met = new Map<string, Set<number>>()
  for (const proxy of proxies) {
    const link = linkOf(proxy)
    const ids = met.get(link) ?? new Set()
    for (const fault of faults)
      if (meetsDirection(fault, proxy, 'up') || meetsDirection(fault, proxy, 'down')) ids.add(fault.id)
    met.set(link, ids)
  }
  const rows = [...met].sort(([one], [other]) => (one < other ? -1 : 1))
  return [
    '# HELP understudy_link_faults_active Faults that are set on a link of the lab.',
    '# TYPE understudy_link_faults_active gauge',
    ...rows.map(([link, ids]) => `understudy_link_faults_active{link="${labelOf(link)}"} ${ids.size}`),
    '',
  ].join('\n')
}

const linkOf = ({ name, from, to, fromNode, toNode }: Place): string => {
  if (from === '') return name
  const ends = from === to ? [fromNode ?? from, toNode ?? to] : [from, to]
  return ends.sort().join('-')
}

const labelOf = (label: string): string => label.replace(/[\\"\n]/g, (one) => (one === '\n' ? '\\n' : `\\${one}`))
