import type { Log } from '../../base/log.js'
import type { ServerStorage } from '../../server/data/server-storage.js'
import { LabError } from '../model/lab-error.js'
import { NODE_COUNTS, type NodeCount } from '../model/topology.js'
import { type LabSettings, requireKeys, requireSettings } from '../model/settings.js'

/**
 * How a lab is started. An option or a setting that is not known is an error of types, and LabError `usage`.
 *
 * @example
 * import { startLab, type StartLabOptions } from 'understudy-lab'
 *
 * const options: StartLabOptions = { seed: 42, storage: 'disk', shares: 5, threshold: 3, timeoutMs: 60_000 }
 * await using lab = await startLab('four', options)
 */
export interface InProcessLabOptions {
  /** True for a lab in virtual time, whose options are SimulatedLabOptions. */
  readonly simulated?: false | undefined
  /** Makes identifiers, keys and faults repeatable. Without it they are the system's random numbers. */
  readonly seed?: number | string | undefined
  /** `memory` by default; `disk` is LevelDB in a temporary directory; or what each cluster, or each of several nodes, is to have. */
  readonly storage?: 'memory' | 'disk' | ((cluster: string) => ServerStorage) | undefined
  /** Servers of each cluster, one of which is active: 1, 3 or 5; as the topology says by default, which is 1. */
  readonly nodes?: NodeCount | undefined
  /** Settings of the stanza `understudy`, for all clusters. */
  readonly settings?: LabSettings | undefined
  /** Key shares of each cluster, and how many of them open it; 1 by default. */
  readonly shares?: number | undefined
  readonly threshold?: number | undefined
  /** Bound on each wait in milliseconds; 30 000 by default. */
  readonly timeoutMs?: number | undefined
  /** Log of the servers; none by default. */
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

/** Throws LabError `usage` for what is not known or cannot be: JavaScript has no compiler to say it. */
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
