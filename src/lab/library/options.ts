import type { Log } from '../../base/log.js'
import type { ServerStorage } from '../../server/data/server-storage.js'
import { LabError } from '../model/lab-error.js'
import { NODE_COUNTS, type NodeCount } from '../model/topology.js'
import { type LabSettings, requireKeys, requireSettings } from '../model/settings.js'

/**
 * Options for starting a lab. An unknown option or setting is a type error, and a LabError `usage` at run time.
 *
 * @example
 * import { startLab, type StartLabOptions } from 'understudy-lab'
 *
 * const options: StartLabOptions = { seed: 42, storage: 'disk', shares: 5, threshold: 3, timeoutMs: 60_000 }
 * await using lab = await startLab('four', options)
 */
export interface InProcessLabOptions {
  /** True for a lab in virtual time, with SimulatedLabOptions. */
  readonly simulated?: false | undefined
  /** Makes identifiers, keys and faults reproducible. By default, they use the system's random numbers. */
  readonly seed?: number | string | undefined
  /** `memory` (default), `disk` (LevelDB in a temporary directory), or a function that returns the storage of each server. */
  readonly storage?: 'memory' | 'disk' | ((cluster: string) => ServerStorage) | undefined
  /** Number of servers per cluster, one of them active: 1, 3 or 5. Default: as in the topology, or 1. */
  readonly nodes?: NodeCount | undefined
  /** Settings of the stanza `understudy`, for all clusters. */
  readonly settings?: LabSettings | undefined
  /** Number of key shares of each cluster, and the unseal threshold. Default: 1. */
  readonly shares?: number | undefined
  readonly threshold?: number | undefined
  /** Timeout of each wait, in milliseconds. Default: 30 000. */
  readonly timeoutMs?: number | undefined
  /** Log of the servers. Default: none. */
  readonly log?: Log | undefined
}

const KNOWN: { readonly [Name in keyof InProcessLabOptions]-?: true } = {
  simulated: true,
  seed: true,
  nodes: true,
  storage: true,
  settings: true,
  shares: true,
  threshold: true,
  timeoutMs: true,
  log: true,
}

/** Throws LabError `usage` for unknown or invalid options, which the compiler does not catch in JavaScript. */
export const requireOptions = (options: InProcessLabOptions): void => {
  if (typeof options !== 'object' || options === null)
    throw new LabError('usage', `the options of a lab are an object, not ${options === null ? 'null' : typeof options}`)
  requireKeys('option of a lab', options, Object.keys(KNOWN))
  const { simulated = false, nodes, storage, timeoutMs, settings = {} } = options
  if (simulated !== false) throw new LabError('usage', 'simulated labs are started by startLab')
  if (typeof storage === 'string' && storage !== 'memory' && storage !== 'disk') {
    throw new LabError('usage', `storage is "memory", "disk" or a function, not "${String(storage)}"`)
  }
  if (nodes !== undefined && !NODE_COUNTS.includes(nodes)) {
    throw new LabError('usage', `nodes is ${NODE_COUNTS.join(', ')}, not ${nodes}`)
  }
  if (timeoutMs !== undefined && !(timeoutMs > 0)) {
    throw new LabError('usage', `timeoutMs is a number of milliseconds above 0, not ${timeoutMs}`)
  }
  requireSettings(settings)
}
