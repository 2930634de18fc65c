import type { DaemonLab } from '../../../lab/model/cluster.js'
import { type ActiveFault, findBetween, isOfLink } from '../../../lab/daemon/active-fault.js'
import { LabError } from '../../../lab/model/lab-error.js'
import { serverNames } from '../../../lab/nodes/choose.js'

/**
 * Returns the faults that `what` selects. A number is the ID of a fault. One name selects the faults of a node, or of a
 * cluster and the links between its nodes. Two names select the faults between them. Throws `LabError` `usage` for an
 * unknown ID.
 */
export const chooseFaults = (
  active: readonly ActiveFault[],
  what: readonly string[],
  lab: DaemonLab,
): readonly ActiveFault[] => {
  const [first = '', second] = what
  if (what.length === 1 && /^\d+$/.test(first)) {
    const found = active.find(({ id }) => id === Number(first))
    if (!found) throw new LabError('usage', `there is no fault ${first}: "understudy fault ls" lists the active faults`)
    return [found]
  }
  const namesOf = (name: string) => [name, ...serverNames(lab, name)]
  const isWithin = (one: ActiveFault) =>
    (isOfLink(one) ? one.between : [one.cluster]).every((name) => namesOf(first).includes(name))
  if (what.length === 1) return active.filter(isWithin)
  if (what.length === 2) return findBetween(active, namesOf(first), namesOf(second ?? ''))
  throw new LabError('usage', 'specify a fault ID, one or two clusters or nodes, or --all')
}
