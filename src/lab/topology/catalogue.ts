import { readFileSync } from 'node:fs'
import { nearest } from '../../base/nearest.js'
import { requireValid } from '../documents/check.js'
import { isDocumentFile, readDocumentFile } from '../documents/yaml-document.js'
import { LabError } from '../model/lab-error.js'
import type { Topology } from '../model/topology.js'
import { parseTopology, readTopology } from './parse.js'

/** The names of the topologies that ship with the package. The file of each is `files/NAME.yaml`. */
export const TOPOLOGY_NAMES = ['single', 'dr', 'pr', 'pr-dr', 'four', 'six', 'filtered', 'lb', 'pubkey'] as const

/** Returns the YAML text of a bundled topology. */
export const topologyText = (name: string): string =>
  readFileSync(new URL(`./files/${name}.yaml`, import.meta.url), 'utf8')

/**
 * Returns all topologies that ship with the package.
 *
 * @example
 * import { listTopologies } from 'understudy-lab'
 *
 * for (const { name, about, clusters } of listTopologies()) console.log(`${name}: ${about} (${clusters.join(', ')})`)
 */
export const listTopologies = (): Topology[] => TOPOLOGY_NAMES.map((name) => readTopology(topologyText(name)))

/** Returns the bundled topology of this name. Undefined if there is none. */
export const findTopology = (name: string): Topology | undefined =>
  TOPOLOGY_NAMES.some((known) => known === name) ? readTopology(topologyText(name)) : undefined

/** Returns the bundled topology of this name. Throws LabError `usage` with the nearest known name if there is none. */
export const requireTopology = (name: string): Topology => {
  const topology = findTopology(name)
  if (topology) return topology
  const guess = nearest(name, TOPOLOGY_NAMES)
  if (isDocumentFile(name))
    throw new LabError('usage', `there is no topology "${name}"; to use your own file, specify -f ${name}`)
  throw new LabError(
    'usage',
    `there is no topology "${name}"; ${guess ? `did you mean "${guess}"? The` : 'the'} topologies are ${TOPOLOGY_NAMES.join(', ')}`,
  )
}

/** Reads a topology file of the user. Throws LabError `usage` with file, line and column of each problem. */
export const readTopologyFile = (file: string): Topology => parseTopology(readDocumentFile(file), file)

/**
 * Returns a bundled topology by its name, or reads a topology file. A path contains a slash or ends in `.yaml` or
 * `.yml`. Throws LabError `usage` with the nearest known name, or with file, line and column of each problem.
 *
 * @example
 * import { loadTopology, startLabOf } from 'understudy-lab'
 *
 * const { name, about, clusters, links } = loadTopology('pr-dr')
 * await using lab = await startLabOf({ name: `${name}-far`, about, clusters, links: links.map((link) => ({ ...link, latencyMs: 40 })) })
 */
export const loadTopology = (nameOrFile: string): Topology => {
  requireValid('loadTopology', { type: 'string' }, nameOrFile, 'nameOrFile')
  return isDocumentFile(nameOrFile) ? readTopologyFile(nameOrFile) : requireTopology(nameOrFile)
}

/** Returns the name of a topology that the user specifies by its name or by the path of its file. */
export const topologyName = (nameOrFile: string): string =>
  isDocumentFile(nameOrFile) ? readTopologyFile(nameOrFile).name : nameOrFile

/** Returns the topology in the record of a lab. Older records contain only the name of a bundled topology. */
export const topologyOf = (lab: {
  readonly topology: string
  readonly plan?: Topology | undefined
}): Topology | undefined => lab.plan ?? findTopology(lab.topology)
