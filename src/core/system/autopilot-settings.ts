/** The settings for node health and for the removal of dead nodes. Times are whole seconds. */
import { formatGoDuration } from '../../base/duration.js'
import { invalid } from '../../logical/errors.js'
import { bool, duration, int } from '../../logical/fields.js'
import type { JsonObject } from '../../logical/json.js'
import { putJson, readJson, type ReadStorage, type Storage } from '../../logical/storage.js'
import { KEYS } from '../../storage/keys/key-families.js'

const DEFAULTS = {
  cleanup_dead_servers: false,
  dead_server_last_contact_threshold: 86_400,
  last_contact_threshold: 10,
  max_trailing_logs: 1000,
  min_quorum: 0,
  server_stabilization_time: 10,
  disable_upgrade_migration: false,
}

export type AutopilotSettings = Readonly<typeof DEFAULTS>

export const AUTOPILOT_FIELDS = {
  cleanup_dead_servers: bool('Whether to remove dead servers from the cluster.'),
  dead_server_last_contact_threshold: duration('Time without contact after which a server is dead; at least 1m.'),
  last_contact_threshold: duration('Time without contact after which a server is unhealthy; at least 6s.'),
  max_trailing_logs: int('Stored and shown; has no effect.'),
  min_quorum: int('Minimum number of voting servers that remain when dead servers are removed.'),
  server_stabilization_time: duration('How long a server must be healthy to count for min_quorum.'),
  disable_upgrade_migration: bool('Stored and shown; has no effect.'),
} as const

type Name = keyof AutopilotSettings

const NAMES = Object.keys(DEFAULTS) as readonly Name[]

/** In seconds. Nodes send a heartbeat every 5 s, so with a shorter time healthy nodes would be unhealthy. */
const LAST_CONTACT_MIN = 6
/** In seconds. */
const DEAD_MIN = 60
/** With fewer than three servers, the loss of one server would stop the cluster. */
const MIN_QUORUM_FOR_CLEANUP = 3

/** Returns the new settings. Throws LogicalError 400 for an invalid setting. */
export const decideAutopilot = (
  before: AutopilotSettings,
  given: AutopilotSettings,
  isGiven: (name: Name) => boolean,
): AutopilotSettings => {
  const changed = Object.fromEntries(NAMES.filter(isGiven).map((name) => [name, given[name]]))
  const after = { ...before, ...changed } as AutopilotSettings
  for (const name of ['max_trailing_logs', 'min_quorum'] as const) {
    if (after[name] < 0) throw invalid(`${name} must not be negative`)
  }
  if (after.last_contact_threshold < LAST_CONTACT_MIN) {
    throw invalid(`last_contact_threshold must be at least ${LAST_CONTACT_MIN}s: nodes send a heartbeat every 5s`)
  }
  if (after.dead_server_last_contact_threshold < DEAD_MIN) {
    throw invalid('dead_server_last_contact_threshold must be at least 1m')
  }
  if (after.cleanup_dead_servers && after.min_quorum < MIN_QUORUM_FOR_CLEANUP) {
    throw invalid(`cleanup_dead_servers requires a min_quorum of at least ${MIN_QUORUM_FOR_CLEANUP}`)
  }
  return after
}

/** Returns the settings of the cluster, which all nodes share. */
export const readAutopilot = (storage: ReadStorage): AutopilotSettings => ({
  ...DEFAULTS,
  ...readJson<Partial<AutopilotSettings>>(storage, KEYS.autopilot),
})

export const saveAutopilot = (storage: Storage, settings: AutopilotSettings): Promise<void> =>
  storage.write((tx) => putJson(tx, KEYS.autopilot, settings))

export const autopilotBody = (settings: AutopilotSettings): JsonObject => ({
  ...settings,
  dead_server_last_contact_threshold: formatGoDuration(settings.dead_server_last_contact_threshold),
  last_contact_threshold: formatGoDuration(settings.last_contact_threshold),
  server_stabilization_time: formatGoDuration(settings.server_stabilization_time),
})
