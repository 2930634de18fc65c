import type { Log } from '../../base/log.js'
import type { ServerStorage } from '../../server/data/server-storage.js'
import { LabError } from '../model/lab-error.js'
import { type LabSettings, requireKeys, requireSettings } from '../model/settings.js'
import { NODE_COUNTS, type NodeCount } from '../model/topology.js'

interface CommonOptions {
  /** Number of servers per cluster, one of them active: 1, 3 or 5. Default: as in the topology, or 1. */
  readonly nodes?: NodeCount | undefined
  /** Settings of the stanza `understudy`, for all clusters. */
  readonly settings?: LabSettings | undefined
  /** Number of key shares of each cluster, and the unseal threshold. Default: 1. */
  readonly shares?: number | undefined
  readonly threshold?: number | undefined
}

/**
 * Options for starting a lab. An unknown option or setting is a type error, and a LabError `usage` at run time.
 *
 * @example
 * import { startLab, type StartLabOptions } from 'understudy-lab'
 *
 * const options: StartLabOptions = { seed: 42, storage: 'disk', shares: 5, threshold: 3, timeoutMs: 60_000 }
 * await using lab = await startLab('four', options)
 */
export interface InProcessLabOptions extends CommonOptions {
  /** True for a lab in virtual time, with SimulatedLabOptions. */
  readonly simulated?: false | undefined
  /** Makes identifiers, keys and faults reproducible. By default, they use the system's random numbers. */
  readonly seed?: number | string | undefined
  /** `memory` (default), `disk` (LevelDB in a temporary directory), or a function that returns the storage of each server. */
  readonly storage?: 'memory' | 'disk' | ((cluster: string) => ServerStorage) | undefined
  /** Timeout of each wait, in milliseconds. Default: 30 000. */
  readonly timeoutMs?: number | undefined
  /** Log of the servers. Default: none. */
  readonly log?: Log | undefined
}

/**
 * Options of a simulated lab: its clusters use a simulated network, disk and clock, and need no ports, files or real time. The
 * same seed and the same calls produce the same history.
 *
 * @example
 * import { type SimulatedLabOptions, startLab } from 'understudy-lab'
 *
 * const options: SimulatedLabOptions = { simulated: true, seed: 42, nodes: 3 }
 * await using lab = await startLab('dr', options)
 */
export interface SimulatedLabOptions extends CommonOptions {
  readonly simulated: true
  /** Determines identifiers, keys and delays. Default: 1. */
  readonly seed?: number | string | undefined
  /** Timeout of each wait in virtual milliseconds. Default: 120 000. */
  readonly timeoutMs?: number | undefined
}

const SIMULATED: { readonly [Name in keyof SimulatedLabOptions]-?: true } = {
  simulated: true,
  seed: true,
  nodes: true,
  settings: true,
  shares: true,
  threshold: true,
  timeoutMs: true,
}
const IN_PROCESS: { readonly [Name in keyof InProcessLabOptions]-?: true } = { ...SIMULATED, storage: true, log: true }

/** Options of other labs, and why a simulated lab does not support them. */
const NOT_SIMULATED: Readonly<Record<string, string>> = {
  storage: 'its disks are simulated',
  log: 'its servers have no log',
}

/** Throws LabError `usage` for unknown or invalid options, which the compiler does not catch in JavaScript. */
export const requireOptions = (options: InProcessLabOptions): void => {
  if (typeof options !== 'object' || options === null)
    throw wrong(`the options of a lab must be an object, not ${options === null ? 'null' : typeof options}`)
  requireKeys('option of a lab', options, Object.keys(IN_PROCESS))
  const { simulated = false, storage } = options
  if (simulated !== false) throw wrong('use startLab to start a simulated lab')
  if (typeof storage === 'string' && storage !== 'memory' && storage !== 'disk')
    throw wrong(`storage must be "memory", "disk" or a function, not "${String(storage)}"`)
  requireCommon(options, 'milliseconds')
}

/** Throws LabError `usage` for unknown or invalid options. */
export const requireSimulatedOptions = (options: SimulatedLabOptions): void => {
  for (const [name, why] of Object.entries(NOT_SIMULATED))
    if (Object.hasOwn(options, name)) throw wrong(`a simulated lab does not support the option "${name}": ${why}`)
  requireKeys('option of a simulated lab', options, Object.keys(SIMULATED))
  const { seed = 1 } = options
  if (!(typeof seed === 'string' ? seed !== '' : Number.isFinite(seed)))
    throw wrong(`seed must be a number or a non-empty string, not ${seed === '' ? 'an empty string' : String(seed)}`)
  requireCommon(options, 'virtual milliseconds')
}

const requireCommon = (
  { nodes, timeoutMs, settings = {} }: CommonOptions & { readonly timeoutMs?: number | undefined },
  unit: string,
): void => {
  if (nodes !== undefined && !NODE_COUNTS.includes(nodes))
    throw wrong(`nodes must be ${NODE_COUNTS.join(', ')}, not ${nodes}`)
  if (timeoutMs !== undefined && !(timeoutMs > 0))
    throw wrong(`timeoutMs must be a number of ${unit} above 0, not ${timeoutMs}`)
  requireSettings(settings)
}

const wrong = (text: string): LabError => new LabError('usage', text)

/**
 * Options of a failover.
 *
 * @example
 * import { type FailoverOptions, startLab } from 'understudy-lab'
 *
 * const rehearsed: FailoverOptions = { acceptLoss: 'any' }
 * await using lab = await startLab('dr')
 * await lab.A.crash()
 * await lab.failover('A', 'B', rehearsed)
 */
export interface FailoverOptions {
  /** Does not touch a running primary, and promotes the secondary even if it may lack data. */
  readonly force?: boolean | undefined
  /**
   * The highest number of log entries that may be lost if the primary is down, or `any` if the number may be unknown. After a
   * crash, it is unknown: replication is asynchronous. Default: 0.
   */
  readonly acceptLoss?: number | 'any' | undefined
}
