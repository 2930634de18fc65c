import { type AnyLab, isAttached } from '../../cluster.js'
import type { PageVerb } from '../page-facts.js'

const ROLES: readonly PageVerb[] = ['promote', 'demote', 'failover', 'switchover', 'rejoin']
const SEALS: readonly PageVerb[] = ['seal', 'unseal']
const PROCESSES: readonly PageVerb[] = ['start', 'stop', 'crash']
/** A process that serves several clusters is not frozen for one of them. */
const FREEZES: readonly PageVerb[] = ['pause', 'resume']
const LINKS: readonly PageVerb[] = ['cut', 'latency', 'heal']
const WHOLE: readonly PageVerb[] = ['save', 'load', 'reset']

/** What can be done to a lab at all: what somebody else runs is not started, and links that are not the lab's are not cut. */
export const verbsOf = (lab: AnyLab): readonly PageVerb[] => {
  if (!isAttached(lab))
    return [...ROLES, ...SEALS, ...PROCESSES, ...(lab.isInProcess ? [] : FREEZES), ...LINKS, 'drill', ...WHOLE]
  const hasContainers = lab.clusters.every(({ container }) => container !== undefined)
  return [...ROLES, ...SEALS, ...(hasContainers ? [...PROCESSES, ...FREEZES] : []), 'drill']
}
