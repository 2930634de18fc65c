import { nearest } from '../../base/nearest.js'
import { OWN_KEYS, type OwnKey } from '../../server/config/tables.js'
import { LabError } from './lab-error.js'

/**
 * Settings of the stanza `understudy`, as docs/settings.md lists them; times are text with a unit (`500ms`, `5s`),
 * sizes are bytes. One that is not known is an error of types, and LabError `usage`.
 *
 * @example
 * import { type LabSettings, startLab } from 'understudy-lab'
 *
 * const settings: LabSettings = { reported_version: '1.19.0+ent', heartbeat_interval: '100ms', ship_batch_bytes: 65_536 }
 * await using lab = await startLab('pr', { settings })
 */
export type LabSettings = { readonly [Key in OwnKey]?: string | number | boolean | readonly string[] }

/** Labs notice a dead peer quickly, lock nobody out and may be tampered with. */
export const LAB_SETTINGS: LabSettings = {
  keepalive_time: '500ms',
  keepalive_timeout: '500ms',
  user_lockout: false,
  lab_api: true,
}

export const NODE_LEASE_MS = 2000

/** On top of these for one of several nodes: others notice soon that an active one is gone, and requests wait for the next. */
export const NODE_SETTINGS: LabSettings = {
  leader_lease: `${NODE_LEASE_MS}ms`,
  step_down_rest: '2s',
  role_change_wait: '10s',
}

/** They name files, programs and addresses of the machine that a server runs on: a lab makes them itself, where it needs them. */
const OF_PLACES: ReadonlySet<string> = new Set<OwnKey>([
  'address_file',
  'data_dir',
  'dial_routes',
  'etcd_path',
  'etcd_peer_address',
])

/** Those that clusters of a lab may have. */
const NAMES = Object.keys(OWN_KEYS).filter((name) => !OF_PLACES.has(name))

const findPlace = (name: string): string | undefined =>
  OF_PLACES.has(name) ? `the setting "${name}" is not for labs: it is of the machine that a server runs on` : undefined

/** What is wrong with the name of a setting for a lab, if anything. */
export const findSettingProblem = (name: string): string | undefined => {
  if (NAMES.includes(name)) return undefined
  const meant = nearest(name, NAMES)
  return findPlace(name) ?? `there is no setting "${name}"${meant ? `; did you mean "${meant}"?` : ''}`
}

/** A server only warns of a setting that it does not know; in a test nobody would see that. */
export const requireSettings = (settings: LabSettings): void => {
  const [problem] = Object.keys(settings).flatMap((name) => findPlace(name) ?? [])
  if (problem !== undefined) throw new LabError('usage', problem)
  requireKeys('setting', settings, NAMES)
}

/** Throws LabError `usage` with the nearest known name where an object has one that is not known. */
export const requireKeys = (what: string, given: object, known: readonly string[]): void => {
  for (const name of Object.keys(given)) {
    if (known.includes(name)) continue
    const meant = nearest(name, known)
    const hint = meant ? `; did you mean "${meant}"?` : ` among ${known.join(', ')}`
    throw new LabError('usage', `there is no ${what} "${name}"${hint}`)
  }
}
