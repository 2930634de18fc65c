import { alternatives } from '../../base/counted.js'
import type { Log } from '../../base/log.js'
import type { ServerStorage } from '../../server/data/server-storage.js'
import { requireValid } from '../documents/check.js'
import { mapWith, type Schema } from '../documents/schema.js'
import { KINDS } from '../model/kinds.js'
import { LabError } from '../model/lab-error.js'
import { type LabSettings, requireSettings } from '../model/settings.js'
import { NODE_COUNTS, type NodeCount, type Topology } from '../model/topology.js'
import { SETTINGS_OBJECT } from '../topology/schema.js'

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
  /**
   * `memory` (default), `disk` (LevelDB in a temporary directory), or a function that returns the storage of each
   * server.
   */
  readonly storage?: 'memory' | 'disk' | ((cluster: string) => ServerStorage) | undefined
  /** Timeout of each wait, in milliseconds. Default: 30 000. */
  readonly timeoutMs?: number | undefined
  /** Receives the log of the servers. Default: no log. */
  readonly log?: Log | undefined
}

/**
 * Options of a simulated lab: its clusters use a simulated network, disk and clock, and need no ports, files or real
 * time. The same seed and the same calls produce the same history.
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

/** A schema for each option of a type. */
type SchemasOf<T> = { readonly [Name in keyof T]-?: Schema }

const TEXT: Schema = { type: 'string' }
const COUNT: Schema = { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER }
const SHARES: Schema = { type: 'integer', minimum: 1, maximum: 255 }
const MS_MAX = Number.MAX_VALUE
/** A timeout in milliseconds. Infinity is allowed: a wait without a timeout. */
export const TIMEOUT: Schema = { type: 'number', minimum: 0, title: 'a number of milliseconds' }
const POSITIVE: Schema = { ...TIMEOUT, minimum: Number.MIN_VALUE, title: 'a number of milliseconds above 0' }

const SIMULATED: SchemasOf<SimulatedLabOptions> = {
  simulated: { type: 'boolean' },
  seed: {
    type: ['string', 'number'],
    pattern: '[^]',
    minimum: -MS_MAX,
    maximum: MS_MAX,
    title: 'a number or a non-empty string',
  },
  nodes: { type: 'integer', enum: NODE_COUNTS.map(String), title: alternatives(NODE_COUNTS) },
  settings: SETTINGS_OBJECT,
  shares: SHARES,
  threshold: SHARES,
  timeoutMs: POSITIVE,
}
const IN_PROCESS: SchemasOf<InProcessLabOptions> = {
  ...SIMULATED,
  storage: { type: ['string', 'function'], pattern: '^(memory|disk)$', title: '"memory", "disk" or a function' },
  log: { type: 'object', title: 'a log' },
}

const CLUSTER: Schema = { type: 'string', title: 'the name of a cluster' }
const SERVER: Schema = { type: 'string', title: 'the name of a cluster or node' }
const WAIT = { 'options?': mapWith({ timeoutMs: TIMEOUT }) }
const ON_CALL = { onCall: { type: 'function' } } as const
const OPERATION = { 'options?': mapWith(ON_CALL) }

/** The arguments of the methods of each lab. */
export const OPERABLE_ARGUMENTS = {
  cluster: { name: CLUSTER },
  failover: {
    lost: CLUSTER,
    to: CLUSTER,
    'options?': mapWith({
      ...ON_CALL,
      force: { type: 'boolean' },
      acceptLoss: { type: ['integer', 'string'], title: 'a number of log entries or "any"' },
    }),
  },
  switchover: { primary: CLUSTER, secondary: CLUSTER, ...OPERATION },
  rejoin: { former: CLUSTER, primary: CLUSTER, ...OPERATION },
  activate: {
    primary: CLUSTER,
    secondary: CLUSTER,
    options: mapWith(
      {
        ...ON_CALL,
        kind: { type: 'string', enum: KINDS },
        filter: mapWith(
          {
            mode: { type: 'string', enum: ['allow', 'deny'] },
            paths: { type: 'array', minItems: 1, items: TEXT },
          },
          ['mode', 'paths'],
        ),
      },
      ['kind'],
    ),
  },
  operationToken: { secondary: CLUSTER, ...OPERATION },
  converged: WAIT,
  healthy: WAIT,
}

/** The arguments of the methods that return links and nodes. */
export const LINK_ARGUMENTS = { link: { one: SERVER, other: SERVER }, node: { name: SERVER } }

export const DRILL_ARGUMENTS = {
  drill: { type: ['string', 'object'], title: 'a name, a file or an object' },
  'options?': mapWith({
    seed: TEXT,
    timeoutMs: POSITIVE,
    slo: mapWith({ rtoMs: TIMEOUT, writesLost: COUNT }),
    signal: { type: 'object' },
    howToRepeat: TEXT,
    watcher: { type: 'object' },
  }),
} as const

/** The options that a simulated lab does not support, with the reasons. */
const NOT_SIMULATED: Readonly<Record<string, string>> = {
  storage: 'its disks are simulated',
  log: 'its servers have no log',
}

/** Throws LabError `usage` for unknown or invalid options, which the compiler does not catch in JavaScript. */
export const requireOptions = (topology: Topology, options: InProcessLabOptions): void => {
  requireValid('start', { type: 'object', title: 'a topology, such as loadTopology("dr")' }, topology, 'topology')
  requireValid('startLab', mapWith(IN_PROCESS), options, 'options')
  if (options.simulated) throw new LabError('usage', 'use startLab to start a simulated lab')
  requireSettings(options.settings ?? {})
}

/** Throws LabError `usage` for unknown or invalid options. */
export const requireSimulatedOptions = (options: SimulatedLabOptions): void => {
  for (const [name, why] of Object.entries(NOT_SIMULATED))
    if (Object.hasOwn(options, name))
      throw new LabError('usage', `a simulated lab does not support the option "${name}": ${why}`)
  requireValid('startLab', mapWith(SIMULATED), options, 'options')
  requireSettings(options.settings ?? {})
}

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
  /** Does not change a running primary, and promotes the secondary even if it may lack data. */
  readonly force?: boolean | undefined
  /**
   * Maximum number of log entries that may be lost if the primary is down, or `any` to accept also an unknown number.
   * After a crash, the number is unknown, because replication is asynchronous. Default: 0.
   */
  readonly acceptLoss?: number | 'any' | undefined
}
