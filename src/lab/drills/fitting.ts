import { LabError } from '../lab-error.js'
import { cannot, type LabKind, type LiveLab } from '../live-lab.js'
import { loadTopology, topologyName } from '../topology/catalogue.js'
import { describeStep } from './describe.js'
import type { Drill } from './drill.js'

/** Whether a drill can be played on a lab that was brought up for something else; throws a usage error that says why not. */
export const requireFitting = (drill: Drill, lab: Pick<LiveLab, 'clusters' | 'name' | 'kind'>): void => {
  const there = lab.clusters.map(({ name }) => name)
  const missing = loadTopology(drill.topology).clusters.filter((name) => !there.includes(name))
  if (missing.length > 0)
    throw new LabError(
      'usage',
      `the drill ${drill.name} is for the topology ${topologyName(drill.topology)}: the lab "${lab.name}" has no cluster ${missing.join(', ')}`,
    )
  requireLinks(drill, lab.kind)
}

/** Said before anything is started or changed: no proxy of a lab stands between containers, or servers of somebody else. */
export const requireLinks = ({ name, setup, steps }: Drill, kind: LabKind): void => {
  if (kind !== 'docker' && kind !== 'attached') return
  const faulty = [...setup, ...steps].find(({ verb }) => verb === 'fault')
  if (!faulty) return
  const { message } = cannot('a fault of a link', kind)
  throw new LabError(
    'usage',
    `${message}, and the drill ${name} needs one (${describeStep(faulty)}); play it --on process or --on in-process`,
  )
}
