import { LabError } from '../model/lab-error.js'
import { commandIn, noDaemon } from '../model/lab-directory.js'
import type { LiveLab } from '../live/live-lab.js'
import type { LabKind } from '../model/server-verbs.js'
import { serversOf, type Topology } from '../model/topology.js'
import { loadTopology, topologyName } from '../topology/catalogue.js'
import { describeNodeState } from '../status/node-view.js'
import { collectOnce, linksOf, viewNodes } from './context/status-samples.js'
import type { Drill } from './parse.js'
import { describeStep, rowOf, type Step } from './steps/steps.js'

/** Whether a drill declares that it runs on labs of this kind. */
export const runsOn = ({ runners }: Pick<Drill, 'runners'>, kind: LabKind): boolean =>
  runners.length === 0 || runners.some((runner) => runner === kind)
export const linkFaultsOf = ({ setup, steps }: Pick<Drill, 'setup' | 'steps'>): readonly Step[] =>
  [...setup, ...steps].filter(({ verb }) => rowOf(verb).needs === 'links')

/** Throws LabError `usage` if a drill cannot run on a lab, because a cluster, a node or the lab daemon is missing. */
export const requireFitting = (drill: Drill, lab: Pick<LiveLab, 'clusters' | 'name' | 'hasLinks'>): void => {
  const wanted = loadTopology(drill.topology)
  const refuse = (what: string, missing: readonly string[]) => {
    if (missing.length === 0) return
    const where = `the drill ${drill.name} requires the topology ${wanted.name}: the lab "${lab.name}"`
    throw new LabError('usage', `${where} has no ${what} ${missing.join(', ')}`)
  }
  const there = new Map(lab.clusters.map(({ name, nodeAddresses = [] }) => [name, Math.max(nodeAddresses.length, 1)]))
  refuse(
    'cluster',
    wanted.clusters.filter((name) => !there.has(name)),
  )
  for (const [name, count] of there) {
    const servers = wanted.clusters.includes(name) ? serversOf(wanted, name) : []
    refuse('nodes', servers.length > count ? servers : [])
  }
  requireLinks(drill, lab)
}

/**
 * Throws before any change if the drill injects link faults but the links of the lab do not go through a lab daemon.
 */
const requireLinks = (drill: Drill, lab: Pick<LiveLab, 'name' | 'hasLinks'>): void => {
  const [faulty] = linkFaultsOf(drill)
  if (!faulty || lab.hasLinks) return
  const { message } = noDaemon(lab.name)
  const use = `the drill ${drill.name} injects a link fault (${describeStep(faulty)})`
  throw new LabError('usage', `${message}. ${use}: run it on a lab of its own with --on`)
}

const ofCommands = (lab: string): string =>
  `; "${commandIn(lab, 'status')}" shows the current state, "${commandIn(lab, 'reset')}" restores the initial state`

const HINT: Readonly<Record<LabKind, (lab: string) => string>> = {
  process: ofCommands,
  'in-process': ofCommands,
  docker: () => '',
  attached: (lab) => `; "${commandIn(lab, 'status')}" shows the current state`,
}

/**
 * Rejects with LabError `conflict`, which names the difference, unless the replication roles are those of the topology.
 * After another drill has changed the roles, the first steps would otherwise wait until their timeout. `hint`: how to
 * restore the lab.
 */
export const requireRoles = async (
  { name, topology }: Drill,
  lab: LiveLab,
  hint = HINT[lab.kind](lab.name),
): Promise<void> => {
  const wanted = loadTopology(topology)
  const { clusters, links } = wanted
  await lab.followActiveNodes()
  const samples = await collectOnce(lab)
  const silent = samples.filter((one) => clusters.includes(one.name) && !one.roles)
  const now = linksOf(samples)
  const missing = links.filter(
    ({ kind, primary, secondary }) =>
      !now.some((one) => one.kind === kind && one.primary === primary && one.secondary === secondary),
  )
  const problems =
    silent.length > 0
      ? silent.map((one) => `${one.name} ${one.health === null ? 'does not respond' : 'is sealed'}`)
      : missing.map(({ kind, primary, secondary }) => `${secondary} is not a ${kind} secondary of ${primary}`)
  problems.push(...(await findAbsentNodes(wanted, lab)))
  if (problems.length === 0) return
  const where = `the drill ${name} requires the topology ${topologyName(topology)}, but in the lab "${lab.name}"`
  throw new LabError('conflict', `${where} ${problems.join(', ')}${hint}`)
}

/** Finds nodes that are neither active nor standby, if the drill requires several nodes. */
const findAbsentNodes = async (wanted: Topology, lab: LiveLab): Promise<string[]> => {
  const several = wanted.clusters.filter((name) => serversOf(wanted, name).length > 1)
  const nodes = (await Promise.all(several.map((name) => viewNodes(lab, name)))).flat()
  return nodes
    .filter(({ state }) => state !== 'active' && state !== 'standby')
    .map(({ name, state }) => `the node ${name} is ${describeNodeState(state)}`)
}
