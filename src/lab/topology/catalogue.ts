import { readFileSync } from 'node:fs'
import { nearest } from '../../base/nearest.js'
import { isDocumentFile, readDocumentFile } from '../documents/yaml-document.js'
import { LabError } from '../model/lab-error.js'
import type { Topology } from '../model/topology.js'
import { parseTopology, readTopology } from './parse.js'

/** The topologies that ship with the package, as files beside this one. */
export const TOPOLOGY_NAMES = ['single', 'dr', 'pr', 'pr-dr', 'four', 'six', 'filtered', 'lb', 'pubkey'] as const

/** The text of the file of a topology that ships with the package. */
export const topologyText = (name: string): string =>
  readFileSync(new URL(`./files/${name}.yaml`, import.meta.url), 'utf8')

/**
 * All topologies that ship with the package.
 *
 * @example
 * import { listTopologies } from 'understudy-lab'
 *
 * for (const { name, about, clusters } of listTopologies()) console.log(`${name}: ${about} (${clusters.join(', ')})`)
 */
export const listTopologies = (): Topology[] => TOPOLOGY_NAMES.map((name) => readTopology(topologyText(name)))

/** The topology of this name among those that ship with the package. */
export const findTopology = (name: string): Topology | undefined =>
  TOPOLOGY_NAMES.some((known) => known === name) ? readTopology(topologyText(name)) : undefined

/** The topology of this name; an unknown name is a usage error with the nearest known one. */
export const requireTopology = (name: string): Topology => {
  const topology = findTopology(name)
  if (topology) return topology
  const guess = nearest(name, TOPOLOGY_NAMES)
  if (isDocumentFile(name))
    throw new LabError('usage', `there is no topology "${name}"; one of your own is given as -f ${name}`)
  throw new LabError(
    'usage',
    `there is no topology "${name}"; ${guess ? `did you mean "${guess}"? There` : 'there'} are ${TOPOLOGY_NAMES.join(', ')}`,
  )
}

/** A topology of one's own from a YAML file. Throws a usage error that names file, line and column. */
export const readTopologyFile = (file: string): Topology => parseTopology(readDocumentFile(file), file)

/**
 * By name, or from a file: what has a slash or ends like a YAML file is one. Throws LabError `usage` with the nearest
 * name, or with file, line and column of what is wrong.
 *
 * @example
 * import { loadTopology, startLabOf } from 'understudy-lab'
 *
 * const { name, about, clusters, links } = loadTopology('pr-dr')
 * await using lab = await startLabOf({ name: `${name}-far`, about, clusters, links: links.map((link) => ({ ...link, latencyMs: 40 })) })
 */
export const loadTopology = (nameOrFile: string): Topology =>
  isDocumentFile(nameOrFile) ? readTopologyFile(nameOrFile) : requireTopology(nameOrFile)

/** The name of a topology, also where it is a file. */
export const topologyName = (nameOrFile: string): string =>
  isDocumentFile(nameOrFile) ? readTopologyFile(nameOrFile).name : nameOrFile

/** The topology that a lab was made from: it stands in its record; for older records it is looked up by its name. */
export const topologyOf = (lab: {
  readonly topology: string
  readonly plan?: Topology | undefined
}): Topology | undefined => lab.plan ?? findTopology(lab.topology)
