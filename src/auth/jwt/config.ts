/** The configuration of a mount: where the keys of the issuers come from, and which tokens are accepted. */
import { isJsonObject } from '../../base/json.js'
import { JWS_ALGORITHMS, parsePublicKey } from '../../crypto/jws.js'
import { parsePemCertificates } from '../../crypto/certificates.js'
import { type BackendContext, type Call, definePath, type PathSpec, shown } from '../../logical/backend.js'
import { requirePrimary } from '../../logical/decided-by-primary.js'
import { invalid } from '../../logical/errors.js'
import { any, bool, commaList, map, string } from '../../logical/fields.js'
import { putJson, readRecord, type ReadStorage } from '../../logical/storage.js'
import { type FetchDocument, type KeySetAddress, type KeySources, readKeySets } from './key-sets.js'

export const CONFIG_KEY = 'config'

export interface JwtConfig extends KeySources {
  readonly boundIssuer: string
  /** The accepted algorithms; empty means all. */
  readonly algorithms: readonly string[]
  readonly defaultRole: string
}

const CONFIG_FIELDS = {
  oidc_discovery_url: string('OIDC discovery URL, without .well-known. The server uses only the keys of the provider.'),
  oidc_discovery_ca_pem: string('CA certificates for the discovery URL, in PEM.'),
  jwks_url: string('URL of a JSON Web Key Set.'),
  jwks_ca_pem: string('CA certificates for the URL of the key set, in PEM.'),
  jwks_pairs: any('List of key sets: objects with jwks_url and jwks_ca_pem.'),
  jwt_validation_pubkeys: commaList('Public keys in PEM.'),
  bound_issuer: string('The value that the claim iss must have.'),
  jwt_supported_algs: commaList('Accepted signature algorithms. By default, all.'),
  default_role: string('Role of logins without a role.'),
  oidc_client_id: string('Not supported.'),
  oidc_client_secret: string('Not supported.', '', { isSecret: true }),
  oidc_response_mode: string('Not supported.'),
  oidc_response_types: commaList('Not supported.'),
  provider_config: map('Not supported.'),
  namespace_in_state: bool('Only true is supported.', true),
} as const

type ConfigValues = Call<typeof CONFIG_FIELDS>['values']

export const findConfig = (storage: ReadStorage): JwtConfig | undefined => readRecord<JwtConfig>(storage, CONFIG_KEY)

export const configPath = (context: BackendContext, fetch: FetchDocument): PathSpec => {
  const { storage } = context
  return definePath('config', CONFIG_FIELDS, 'Read or write the configuration.', {
    read: () => shown(findConfig(storage), configData),
    update: async ({ values }) => {
      // The primary fetches the keys: a secondary forwards the request.
      requirePrimary(context)
      const config = parseConfig(values)
      await checkKeySets(config, fetch)
      await storage.write((tx) => putJson(tx, CONFIG_KEY, config))
      return undefined
    },
  })
}

/** Returns the whole configuration: a field that the request does not contain has its default value. */
const parseConfig = (values: ConfigValues): JwtConfig => {
  refuseOidc(values)
  const config = {
    discoveryUrl: values.oidc_discovery_url,
    discoveryCaPem: parseCa('oidc_discovery_ca_pem', values.oidc_discovery_ca_pem),
    jwksUrl: values.jwks_url,
    jwksCaPem: parseCa('jwks_ca_pem', values.jwks_ca_pem),
    jwksPairs: parsePairs(values.jwks_pairs),
    publicKeys: values.jwt_validation_pubkeys,
    boundIssuer: values.bound_issuer,
    algorithms: values.jwt_supported_algs,
    defaultRole: values.default_role.toLowerCase(),
  }
  const sources = [config.discoveryUrl, config.jwksUrl, config.jwksPairs, config.publicKeys]
  if (sources.filter(({ length }) => length > 0).length !== 1) {
    throw invalid(
      "exactly one of 'jwt_validation_pubkeys', 'jwks_url', 'jwks_pairs' or 'oidc_discovery_url' must be set",
    )
  }
  if (config.publicKeys.some((pem) => !parsePublicKey(pem))) {
    throw invalid('error parsing public key: data does not contain any valid public keys')
  }
  const unknown = config.algorithms.find((name) => !JWS_ALGORITHMS.includes(name))
  if (unknown !== undefined) {
    throw invalid(`invalid jwt_supported_algs: unsupported signing algorithm ${JSON.stringify(unknown)}`)
  }
  return config
}

const OIDC_FIELDS = ['oidc_client_id', 'oidc_client_secret', 'oidc_response_mode', 'oidc_response_types'] as const

/** Throws LogicalError 400 for a setting of logins with a browser. Clients may send empty settings. */
const refuseOidc = (values: ConfigValues): void => {
  const sent = OIDC_FIELDS.find((name) => values[name].length > 0)
  const others = [
    ...(Object.keys(values.provider_config ?? {}).length > 0 ? ['provider_config'] : []),
    ...(values.namespace_in_state ? [] : ['namespace_in_state']),
  ]
  const [name] = [...(sent ? [sent] : []), ...others]
  if (name !== undefined) throw invalid(`${name} is not supported: this server has no OIDC logins with a browser`)
}

const parseCa = (field: string, pem: string): string => {
  if (pem !== '' && !parsePemCertificates(pem)) throw invalid(`error checking ${field}`)
  return pem
}

const parsePairs = (value: unknown): KeySetAddress[] => {
  if (value === undefined || value === null) return []
  const wrong = () => invalid('jwks_pairs must be a list of objects with the texts jwks_url and jwks_ca_pem')
  if (!Array.isArray(value)) throw wrong()
  return value.map((pair: unknown) => {
    if (!isJsonObject(pair)) throw wrong()
    const { jwks_url: url, jwks_ca_pem: caPem = '' } = pair
    if (typeof url !== 'string' || url === '' || typeof caPem !== 'string') throw wrong()
    return { url, caPem: parseCa('jwks_pairs', caPem) }
  })
}

/** Fetches the keys once, so that an unreachable or invalid source is reported. Rejects with LogicalError 400. */
const checkKeySets = async (config: JwtConfig, fetch: FetchDocument): Promise<void> => {
  const what = config.discoveryUrl === '' ? 'jwks URL' : 'oidc discovery URL'
  try {
    await readKeySets(config, fetch)
  } catch (cause) {
    throw invalid(`error checking ${what}: ${(cause as Error).message}`)
  }
}

const configData = (config: JwtConfig): Record<string, unknown> => ({
  bound_issuer: config.boundIssuer,
  default_role: config.defaultRole,
  jwks_ca_pem: config.jwksCaPem,
  jwks_pairs: config.jwksPairs.map(({ url, caPem }) => ({ jwks_url: url, jwks_ca_pem: caPem })),
  jwks_url: config.jwksUrl,
  jwt_supported_algs: config.algorithms,
  jwt_validation_pubkeys: config.publicKeys,
  namespace_in_state: true,
  oidc_client_id: '',
  oidc_discovery_ca_pem: config.discoveryCaPem,
  oidc_discovery_url: config.discoveryUrl,
  oidc_response_mode: '',
  oidc_response_types: [],
  provider_config: {},
})
