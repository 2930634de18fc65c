import { suggestion } from '../../base/nearest.js'
import { OWN_KEYS, type OwnKey } from '../../server/config/tables.js'
import { LabError } from './lab-error.js'

/**
 * Settings of the stanza `understudy`, as listed in docs/reference/settings.md. Times are strings with a unit (`500ms`,
 * `5s`), sizes are in bytes. An unknown setting is a type error, and a LabError `usage`.
 *
 * @example
 * import { type LabSettings, startLab } from 'understudy-lab'
 *
 * const settings: LabSettings = { reported_version: '1.19.0+ent', heartbeat_interval: '100ms', ship_batch_bytes: 65_536 }
 * await using lab = await startLab('pr', { settings })
 */
export type LabSettings = { readonly [Key in OwnKey]?: string | number | boolean | readonly string[] }

/** In labs, servers detect a dead peer quickly, never lock out users, and allow fault injection. */
export const LAB_SETTINGS: LabSettings = {
  keepalive_time: '500ms',
  keepalive_timeout: '500ms',
  user_lockout: false,
  lab_api: true,
}

/** Lease of the active node in labs, in milliseconds. */
export const NODE_LEASE_MS = 2000

/**
 * Additional settings of nodes: standbys detect the loss of the active node quickly, and requests wait for its
 * successor.
 */
export const NODE_SETTINGS: LabSettings = {
  leader_lease: `${NODE_LEASE_MS}ms`,
  step_down_rest: '2s',
  role_change_wait: '10s',
}

/** Settings with files, programs and addresses of the machine of a server. The lab itself chooses their values. */
const OF_MACHINES: ReadonlySet<string> = new Set<OwnKey>([
  'address_file',
  'data_dir',
  'dial_routes',
  'etcd_path',
  'etcd_peer_address',
])

/** The settings that users can set for the clusters of a lab. */
const NAMES = Object.keys(OWN_KEYS).filter((name) => !OF_MACHINES.has(name))

/** Returns the problem with the name of a setting for a lab, or undefined. */
export const findSettingProblem = (name: string): string | undefined => {
  if (NAMES.includes(name)) return undefined
  if (OF_MACHINES.has(name)) return `the setting "${name}" cannot be set in a lab, because the lab chooses its value`
  return `there is no setting "${name}"${suggestion(name, NAMES)}`
}

/** Throws for unknown settings: a server only logs a warning, which is easily missed in a test. */
export const requireSettings = (settings: LabSettings): void => {
  const [problem] = Object.keys(settings).flatMap((name) => findSettingProblem(name) ?? [])
  if (problem !== undefined) throw new LabError('usage', problem)
}
