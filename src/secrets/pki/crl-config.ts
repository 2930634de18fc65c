/** The settings of revocation lists, with the names of the API. */
import { parseDurationMs } from '../../base/duration.js'
import { type BackendContext, type Call, definePath, type PathSpec } from '../../logical/backend.js'
import { decidedByPrimary } from '../../logical/decided-by-primary.js'
import { invalid } from '../../logical/errors.js'
import { bool, defaultsOf, string, type Values } from '../../logical/fields.js'
import { putJson, readJson } from '../../logical/storage.js'

const FIELDS = {
  expiry: string('Validity of revocation lists.', '72h'),
  disable: bool('Revocation lists are empty.'),
  ocsp_disable: bool('Stored without effect: this server has no OCSP responder.'),
  ocsp_expiry: string('Stored without effect: this server has no OCSP responder.', '12h'),
  auto_rebuild: bool('Lists are rebuilt before they expire, and not at each revocation.'),
  auto_rebuild_grace_period: string('Time before the expiry at which a list is rebuilt.', '12h'),
  enable_delta: bool('Not supported: delta lists.'),
  delta_rebuild_interval: string('Stored without effect: this server has no delta lists.', '15m'),
  cross_cluster_revocation: bool('Not supported: revocation on other clusters.'),
  unified_crl: bool('Not supported: lists for all clusters.'),
  unified_crl_on_existing_paths: bool('Not supported: lists for all clusters.'),
} as const

type CrlConfig = Values<typeof FIELDS>

const KEY = 'config/crl'
const DEFAULTS = defaultsOf(FIELDS)

const UNSUPPORTED = [
  'enable_delta',
  'cross_cluster_revocation',
  'unified_crl',
  'unified_crl_on_existing_paths',
] as const
const DURATIONS = ['expiry', 'ocsp_expiry', 'auto_rebuild_grace_period', 'delta_rebuild_interval'] as const

export const crlConfigOf = ({ storage }: Pick<BackendContext, 'storage'>): CrlConfig => ({
  ...DEFAULTS,
  ...readJson<CrlConfig>(storage, KEY),
})

const msOf = (name: keyof CrlConfig, text: string): number => {
  const ms = parseDurationMs(text)
  if (ms === undefined || ms < 0)
    throw invalid(`given ${name} could not be decoded: time: invalid duration ${JSON.stringify(text)}`)
  return ms
}

const checkConfig = (config: CrlConfig): void => {
  const used = UNSUPPORTED.find((name) => config[name])
  if (used) throw invalid(`${used} is not supported by this server: set it to false`)
  for (const name of DURATIONS) msOf(name, config[name])
  const { auto_rebuild_grace_period: grace, expiry } = config
  if (msOf('expiry', expiry) === 0) throw invalid('expiry must be greater than 0')
  if (config.auto_rebuild && msOf('auto_rebuild_grace_period', grace) >= msOf('expiry', expiry)) {
    throw invalid(
      `CRL auto-rebuilding grace period (${grace}) must be strictly shorter than CRL expiry (${expiry}) value when auto-rebuilding of CRLs is enabled`,
    )
  }
}

export const crlConfigPaths = (context: BackendContext): PathSpec[] => {
  const storage = decidedByPrimary(context)
  return [
    definePath('config/crl', FIELDS, 'Read or change the settings of revocation lists.', {
      read: () => ({ data: { ...crlConfigOf(context) } }),
      update: ({ values, supplied }: Call<typeof FIELDS>) =>
        storage.write((tx) => {
          const sent = Object.entries(values).filter(([name]) => supplied(name as keyof CrlConfig))
          const config = { ...DEFAULTS, ...readJson<CrlConfig>(tx, KEY), ...Object.fromEntries(sent) }
          checkConfig(config)
          putJson(tx, KEY, config)
          return { data: { ...config } }
        }),
    }),
  ]
}
