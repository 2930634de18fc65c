import type { LabRecord } from '../../../lab/model/cluster.js'
import { commandIn } from '../../../lab/model/lab-directory.js'
import { drawLab } from '../../../lab/topology/describe.js'
import { formatTable } from '../../terminal/output.js'
import { describeKeys } from './describe-keys.js'

/** Describes a started lab: topology, addresses, keys, seed, results of the verification, and the next commands. */
export const describeLab = (lab: LabRecord, sentences: readonly string[]): string => {
  const rows = lab.clusters.map(({ name, apiAddress, rootToken, nodes }) => [
    name,
    nodes ? nodes.map((node) => node.apiAddress).join(' ') : apiAddress,
    rootToken || '(none: a DR secondary accepts no token)',
  ])
  const isAutoSealed = (name: string) => lab.clusters.find((one) => one.name === name)?.sealKeyFile !== undefined
  return [
    drawLab(lab),
    '',
    formatTable([['cluster', 'address', 'root token'], ...rows]),
    '',
    ...describeKeys(lab.clusters, isAutoSealed),
    ...(lab.seed === undefined ? [] : [`seed: ${lab.seed}`]),
    '',
    ...(sentences.length > 0 ? [...sentences, ''] : []),
    describeNext(lab.name),
  ].join('\n')
}

/** Lists the next commands for a lab. */
const describeNext = (lab: string): string =>
  `Next: eval "$(${commandIn(lab, 'env A')})"; ${commandIn(lab, 'status')}; ${commandIn(lab, 'down')}`
