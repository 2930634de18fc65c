import { type AnyLab, type AttachedServer, isAttached, serversIn } from '../../model/cluster.js'
import type { PageVerb } from '../page-facts.js'

const ROLES: readonly PageVerb[] = ['promote', 'demote', 'failover', 'switchover', 'rejoin']
const SEALS: readonly PageVerb[] = ['seal', 'unseal']
const PROCESSES: readonly PageVerb[] = ['start', 'stop', 'crash']
/** A process that runs several clusters cannot be suspended for one of them. */
const FREEZES: readonly PageVerb[] = ['pause', 'resume']
const LINKS: readonly PageVerb[] = ['cut', 'latency', 'heal']
const NODES: readonly PageVerb[] = ['step-down']
/** Snapshots do not include data that nodes share. */
const WHOLE: readonly PageVerb[] = ['save', 'load', 'reset']

/** Returns the actions that a lab supports: external servers cannot be started, and external links cannot have faults. */
export const verbsOf = (lab: AnyLab): readonly PageVerb[] => {
  const nodes = lab.clusters.some((cluster) => cluster.nodes) ? NODES : []
  if (!isAttached(lab)) {
    const freezes = lab.isInProcess ? [] : FREEZES
    const whole = nodes.length > 0 ? [] : WHOLE
    return [...ROLES, ...nodes, ...SEALS, ...PROCESSES, ...freezes, ...LINKS, 'drill', ...whole]
  }
  const servers = lab.clusters.flatMap((cluster) => serversIn<AttachedServer>(cluster))
  const hasContainers = servers.every(({ container }) => container !== undefined)
  return [...ROLES, ...nodes, ...SEALS, ...(hasContainers ? [...PROCESSES, ...FREEZES] : []), 'drill']
}
