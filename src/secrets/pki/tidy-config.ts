/** What a tidy operation removes, as a request or the settings of the automatic operations say it. */
import { formatGoDuration, parseDurationMs } from '../../base/duration.js'
import { type BackendContext, type Call, definePath, type PathSpec } from '../../logical/backend.js'
import { decidedByPrimary } from '../../logical/decided-by-primary.js'
import { invalid } from '../../logical/errors.js'
import { bool, defaultsOf, duration, string, type Values } from '../../logical/fields.js'
import { putJson, readJson } from '../../logical/storage.js'

const [HOUR, DAY] = [3600, 86_400]

/** Only the first three have something to remove: this server has no other data. */
const TARGETS = {
  tidy_cert_store: bool('Removes expired certificates.'),
  tidy_revoked_certs: bool('Removes expired certificates that were revoked, and rebuilds the revocation lists.'),
  tidy_expired_issuers: bool('Removes expired issuers, except for the default issuer.'),
  tidy_revoked_cert_issuer_associations: bool('Without effect: revoked certificates always name their issuer.'),
  tidy_move_legacy_ca_bundle: bool('Without effect: this server has no such bundle.'),
  tidy_revocation_queue: bool('Without effect: this server has no such queue.'),
  tidy_cross_cluster_revoked_certs: bool('Without effect: clusters do not share revoked certificates.'),
  tidy_acme: bool('Without effect: this server has no ACME accounts.'),
} as const

const BUFFERS = {
  safety_buffer: duration('Time between the expiry and the removal of a certificate.', 72 * HOUR),
  issuer_safety_buffer: duration('Time between the expiry and the removal of an issuer.', 365 * DAY),
  revocation_queue_safety_buffer: duration('Without effect: this server has no such queue.', 2 * DAY),
  acme_account_safety_buffer: duration('Without effect: this server has no ACME accounts.', 30 * DAY),
} as const

const PAUSE = { pause_duration: string('Without effect: operations yield to requests anyway.', '0s') } as const

export const TIDY_FIELDS = {
  ...TARGETS,
  tidy_revocation_list: bool('Deprecated: use tidy_revoked_certs.', false, { isDeprecated: true }),
  ...BUFFERS,
  ...PAUSE,
} as const

export type TidyValues = Omit<Values<typeof TIDY_FIELDS>, 'tidy_revocation_list'>

const AUTO_FIELDS = {
  enabled: bool('Runs operations automatically.'),
  interval_duration: duration('Time between two operations.', 12 * HOUR),
  maintain_stored_certificate_counts: bool('Stored without effect: this server counts no certificates.'),
  publish_stored_certificate_count_metrics: bool('Stored without effect: this server counts no certificates.'),
  ...TARGETS,
  ...BUFFERS,
  ...PAUSE,
} as const

type AutoTidy = Values<typeof AUTO_FIELDS>

const KEY = 'config/auto-tidy'
const DEFAULTS = defaultsOf(AUTO_FIELDS)
const TARGET_NAMES = Object.keys(TARGETS) as readonly (keyof typeof TARGETS)[]
const BUFFER_NAMES = Object.keys(BUFFERS) as readonly (keyof typeof BUFFERS)[]

const LISTED =
  'tidy_cert_store / tidy_revoked_certs / tidy_revoked_cert_issuer_associations / tidy_expired_issuers / tidy_move_legacy_ca_bundle / tidy_revocation_queue / tidy_cross_cluster_revoked_certs / tidy_acme'

/** The end of the texts about an operation that would remove nothing. */
export const NO_TARGETS = `no tidy operations were set. Enable at least one tidy operation to be run (${LISTED}).`

export const hasTargets = (values: Values<typeof TARGETS>): boolean => TARGET_NAMES.some((name) => values[name])

/** Returns the values without other fields. Throws LogicalError 400 for a wrong duration. */
export const checkedTidy = (given: Values<typeof TIDY_FIELDS>): TidyValues => {
  const { tidy_revocation_list: isOldName, ...values } = given
  const wrong = BUFFER_NAMES.find((name) => values[name] < 1)
  if (wrong !== undefined) throw invalid(`${wrong} must be greater than zero`)
  const pause = pauseOf(values.pause_duration, 'Error parsing pause_duration')
  return { ...values, tidy_revoked_certs: values.tidy_revoked_certs || isOldName, pause_duration: pause }
}

/** Returns a duration as Go prints it. Throws LogicalError 400 for a wrong text, with a beginning. */
const pauseOf = (text: string, beginning: string): string => {
  const ms = text === '' ? 0 : parseDurationMs(text)
  if (ms === undefined) throw invalid(`${beginning}: invalid duration ${JSON.stringify(text)}`)
  if (ms < 0) throw invalid('received invalid, negative pause_duration')
  return formatGoDuration(ms / 1000)
}

export const autoTidyOf = ({ storage }: Pick<BackendContext, 'storage'>): AutoTidy => ({
  ...DEFAULTS,
  ...readJson<AutoTidy>(storage, KEY),
})

const checkedAuto = (config: AutoTidy): AutoTidy => {
  const wrong = BUFFER_NAMES.find((name) => config[name] < 1)
  if (wrong !== undefined) throw invalid(`given ${wrong} must be at least one second; got: ${config[wrong]}`)
  if (config.enabled && !hasTargets(config)) {
    throw invalid(`Auto-tidy enabled but no tidy operations were requested. ${NO_TARGETS.split('. ')[1]}`)
  }
  if (config.publish_stored_certificate_count_metrics && !config.maintain_stored_certificate_counts) {
    throw invalid(
      'Can not publish a running storage metrics count to metrics without first maintaining that count.  Enable `maintain_stored_certificate_counts` to enable `publish_stored_certificate_count_metrics`.',
    )
  }
  return { ...config, pause_duration: pauseOf(config.pause_duration, 'unable to parse given pause_duration') }
}

export const autoTidyPath = (context: BackendContext): PathSpec => {
  const storage = decidedByPrimary(context)
  return definePath('config/auto-tidy', AUTO_FIELDS, 'Read or change the settings of automatic tidy operations.', {
    read: () => ({ data: { ...autoTidyOf(context) } }),
    update: ({ values, supplied }: Call<typeof AUTO_FIELDS>) =>
      storage.write((tx) => {
        const sent = Object.entries(values).filter(([name]) => supplied(name as keyof AutoTidy))
        const config = checkedAuto({ ...DEFAULTS, ...readJson<AutoTidy>(tx, KEY), ...Object.fromEntries(sent) })
        putJson(tx, KEY, config)
        return { data: { ...config } }
      }),
  })
}
