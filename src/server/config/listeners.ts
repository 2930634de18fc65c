import { messageOf } from '../../base/printable.js'
import { createSecureContext } from 'node:tls'
import { readNamedFile } from '../../base/named-file.js'
import { LIMITS } from '../../base/limits.js'
import { isNamespacePath, normalizeNamespacePath } from '../../logical/namespace-path.js'
import { type Withheld, WITHHOLDABLE } from '../../logical/request.js'
import type { ListenerConfig, ListenerTls } from './config.js'
import { checkAddress, resolveNetworks, withPort } from './addresses.js'
import type { Stanza } from './file.js'
import { nonEmpty, textOf } from './values.js'
import { type ConfigSources, fromFlag, fromVariable, type ResolvedSettings } from './resolved-settings.js'

/** Resolves all listeners. In dev mode, its listener is the first, without TLS files, which are created at startup. */
export const resolveListeners = (sources: ConfigSources): ListenerConfig[] => {
  const { flags, env, files, findings } = sources
  const configured = files.listeners.filter((stanza) => {
    if (stanza.label === 'tcp') return true
    const text = `listener "${stanza.label}" is not supported: use listener "tcp"`
    findings.problems.push({ origin: stanza.origin, text })
    return false
  })
  const first = flags.dev ? [devListener(sources)] : []
  const listeners = configured.map((stanza, index) =>
    resolveListener(sources, stanza, `listener[${index + first.length}]`),
  )
  const isSilent = !flags.dev && files.listeners.length === 0 && files.isWhole
  if (isSilent && (flags.configs.length > 0 || env.VAULT_LOCAL_CONFIG)) {
    findings.problems.push({
      origin: flags.configs.join(', ') || 'VAULT_LOCAL_CONFIG',
      text: 'at least one listener stanza is required',
    })
  }
  return [...first, ...listeners]
}

const devListener = (sources: ConfigSources): ListenerConfig => {
  const { flags, env } = sources
  const address =
    fromFlag('-dev-listen-address', flags.devListenAddress || undefined) ??
    fromVariable(env, 'VAULT_DEV_LISTEN_ADDRESS')
  const values = {
    ...(address && { address }),
    tls_disable: { value: !flags.devTls, origin: flags.devTls ? '-dev-tls' : '-dev' },
  }
  return resolveListener(sources, { values, origin: '-dev' }, 'listener[0]', MADE_AT_START)
}

const MADE_AT_START: ListenerTls = { certFile: '', keyFile: '', clientCaFile: '', requireClientCert: false }

const WITHHELD_BY: Readonly<Record<Withheld, string>> = {
  addresses: 'redact_addresses',
  'cluster-name': 'redact_cluster_name',
  version: 'redact_version',
  'replication-status': 'disable_replication_status_endpoints',
}

/** Resolves one listener. If `tls` is given, it replaces the TLS settings of the stanza. */
const resolveListener = (
  { settled }: ConfigSources,
  stanza: Pick<Stanza, 'values' | 'origin'>,
  name: string,
  tls?: ListenerTls,
): ListenerConfig => {
  const given = Object.entries(stanza.values).filter(([, setting]) => nonEmpty(setting))
  const settings = settled.within(name, { values: Object.fromEntries(given), origin: stanza.origin })
  const address = withPort(settings.text('address', '127.0.0.1:8200'), 8200)
  checkAddress(settings, 'address', address)
  const isTls = !settings.flag('tls_disable')
  const authorizedAddrs = resolveNetworks(settings, 'x_forwarded_for_authorized_addrs')
  const forwardedFor = {
    authorizedAddrs,
    hopSkips: settings.number('x_forwarded_for_hop_skips', 0),
    rejectNotAuthorized: settings.flag('x_forwarded_for_reject_not_authorized'),
    rejectNotPresent: settings.flag('x_forwarded_for_reject_not_present'),
  }
  return {
    address,
    tls: isTls ? (tls ?? resolveTls(settings)) : undefined,
    limits: {
      bodyBytesMax: settings.number('max_request_size', LIMITS.bodyBytesMax),
      requestMs: settings.durationMs('max_request_duration', LIMITS.requestMs),
      headerReadMs: settings.durationMs('http_read_header_timeout', LIMITS.headerReadMs),
      bodyReadMs: settings.durationMs('http_read_timeout', LIMITS.bodyReadMs),
      idleMs: settings.durationMs('http_idle_timeout', LIMITS.idleMs),
    },
    forwardedFor: authorizedAddrs.length === 0 ? undefined : forwardedFor,
    proxyProtocol: resolveProxyProtocol(settings),
    chrootNamespace: resolveChroot(settings),
    withheld: WITHHOLDABLE.filter((what) => settings.flag(WITHHELD_BY[what])),
  }
}

const resolveChroot = (settings: ResolvedSettings): string => {
  const given = settings.text('chroot_namespace')
  const path = normalizeNamespacePath(given)
  if (path !== '' && !isNamespacePath(path))
    settings.refuse(
      'chroot_namespace',
      `chroot_namespace: "${given}" is not the path of a namespace such as team/child`,
    )
  return path
}

const BEHAVIOR = 'proxy_protocol_behavior'
const PROXIES = 'proxy_protocol_authorized_addrs'

const USES_ADDRESSES: Readonly<Record<string, boolean>> = {
  '': false,
  use_always: false,
  allow_authorized: true,
  deny_unauthorized: true,
}

/** Resolves the PROXY protocol settings. Returns undefined if the behavior is absent, or unknown (reported). */
const resolveProxyProtocol = (settings: ResolvedSettings): ListenerConfig['proxyProtocol'] => {
  const behavior = settings.text(BEHAVIOR)
  const proxies = resolveNetworks(settings, PROXIES)
  const hasProxies = (settings.values[PROXIES]?.value as readonly string[] | undefined)?.length
  const usesAddresses = Object.hasOwn(USES_ADDRESSES, behavior) ? USES_ADDRESSES[behavior] : undefined
  if (usesAddresses === undefined)
    settings.refuse(
      BEHAVIOR,
      `${BEHAVIOR} must be use_always, allow_authorized or deny_unauthorized, not "${behavior}"`,
    )
  else if (usesAddresses && !hasProxies)
    settings.refuse(BEHAVIOR, `${BEHAVIOR} "${behavior}" requires ${PROXIES}: name the addresses of the proxies`)
  else if (!usesAddresses && hasProxies) {
    const wanted = `${BEHAVIOR} "allow_authorized" or "deny_unauthorized"`
    settings.warn(PROXIES, `${PROXIES} has no effect without ${wanted}`)
  }
  if (usesAddresses === undefined || behavior === '') return undefined
  return { authorizedAddrs: usesAddresses ? proxies : undefined, refusesOthers: behavior === 'deny_unauthorized' }
}

const TLS_VERSIONS = ['tls10', 'tls11', 'tls12', 'tls13']

const resolveTls = (settings: ResolvedSettings): ListenerTls => {
  const certFile = settings.text('tls_cert_file')
  const keyFile = settings.text('tls_key_file')
  const clientCaFile = settings.text('tls_client_ca_file')
  const oldest = settings.text('tls_min_version', 'tls12')
  const newest = settings.text('tls_max_version', 'tls13')
  const suites = parseCipherSuites(settings.list('tls_cipher_suites'))
  const requireClientCert = settings.flag('tls_require_and_verify_client_cert')
  const disableClientCerts = settings.flag('tls_disable_client_certs')
  if (!TLS_VERSIONS.includes(newest) || newest < 'tls12' || newest < oldest) {
    const text = `tls_max_version must be tls12 or tls13, and at least tls_min_version, not "${newest}"`
    settings.refuse('tls_max_version', text)
  }
  for (const name of suites.unknown) settings.refuse('tls_cipher_suites', `tls_cipher_suites: "${name}" is unknown`)
  if (requireClientCert && disableClientCerts) {
    const [one, other] = ['tls_disable_client_certs', 'tls_require_and_verify_client_cert']
    settings.refuse(one, `'${one}' and '${other}' are mutually exclusive`)
  }
  if (certFile === '' || keyFile === '')
    settings.refuse('', 'tls_cert_file and tls_key_file are required unless tls_disable is true')
  if (!TLS_VERSIONS.includes(oldest)) settings.refuse('tls_min_version', `tls_min_version "${oldest}" is unknown`)
  else if (oldest < 'tls12')
    settings.warn('tls_min_version', `tls_min_version "${oldest}" is raised to tls12: older versions are not supported`)
  checkFiles(settings)
  return {
    certFile,
    keyFile,
    clientCaFile: disableClientCerts ? '' : clientCaFile,
    requireClientCert,
    disableClientCerts,
    minVersion: oldest === 'tls13' ? 'TLSv1.3' : 'TLSv1.2',
    maxVersion: newest === 'tls12' ? 'TLSv1.2' : undefined,
    ciphers: suites.ciphers,
  }
}

/** Reports a problem if a TLS file is missing or unusable, or if the key does not match the certificate. */
const checkFiles = (settings: ResolvedSettings): void => {
  const [cert, key, ca] = ['tls_cert_file', 'tls_key_file', 'tls_client_ca_file'].map((name) =>
    readFile(settings, name),
  )
  const isCertGood =
    cert === undefined || accepts(settings, 'tls_cert_file', { cert }, 'contains no usable certificate')
  const isKeyGood = key === undefined || accepts(settings, 'tls_key_file', { key }, 'contains no usable private key')
  if (ca !== undefined) accepts(settings, 'tls_client_ca_file', { ca }, 'contains no usable certificate')
  if (cert && key && isCertGood && isKeyGood)
    accepts(settings, 'tls_key_file', { cert, key }, 'does not match the certificate')
}

const readFile = (settings: ResolvedSettings, key: string): Buffer | undefined => {
  const file = textOf(settings.values[key])
  if (file === '') return undefined
  try {
    return readNamedFile(file)
  } catch (error) {
    settings.refuse(key, `${file} cannot be read: ${messageOf(error)}`)
    return undefined
  }
}

const accepts = (
  settings: ResolvedSettings,
  key: string,
  material: Readonly<Record<string, Buffer>>,
  problem: string,
): boolean => {
  try {
    if (material.ca && !material.ca.includes('-----BEGIN CERTIFICATE-----')) throw new Error('no PEM certificate')
    createSecureContext(material)
    return true
  } catch (error) {
    settings.refuse(key, `${textOf(settings.values[key])} ${problem}: ${messageOf(error)}`)
    return false
  }
}

/** Maps the names of TLS 1.2 cipher suites in configurations to their OpenSSL names. */
const SUITES: Readonly<Record<string, string>> = {
  TLS_RSA_WITH_AES_128_CBC_SHA: 'AES128-SHA',
  TLS_RSA_WITH_AES_256_CBC_SHA: 'AES256-SHA',
  TLS_RSA_WITH_AES_128_CBC_SHA256: 'AES128-SHA256',
  TLS_RSA_WITH_AES_128_GCM_SHA256: 'AES128-GCM-SHA256',
  TLS_RSA_WITH_AES_256_GCM_SHA384: 'AES256-GCM-SHA384',
  TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA: 'ECDHE-ECDSA-AES128-SHA',
  TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA: 'ECDHE-ECDSA-AES256-SHA',
  TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA: 'ECDHE-RSA-AES128-SHA',
  TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA: 'ECDHE-RSA-AES256-SHA',
  TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256: 'ECDHE-ECDSA-AES128-SHA256',
  TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256: 'ECDHE-RSA-AES128-SHA256',
  TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256: 'ECDHE-ECDSA-AES128-GCM-SHA256',
  TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256: 'ECDHE-RSA-AES128-GCM-SHA256',
  TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384: 'ECDHE-ECDSA-AES256-GCM-SHA384',
  TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384: 'ECDHE-RSA-AES256-GCM-SHA384',
  TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305: 'ECDHE-ECDSA-CHACHA20-POLY1305',
  TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305: 'ECDHE-RSA-CHACHA20-POLY1305',
  TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256: 'ECDHE-ECDSA-CHACHA20-POLY1305',
  TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256: 'ECDHE-RSA-CHACHA20-POLY1305',
}

/** The TLS 1.3 cipher suites, which are always enabled. */
const ALWAYS = ['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256']

/** Returns the OpenSSL cipher list for `names` (empty for no names), and the unknown names. */
export const parseCipherSuites = (
  names: readonly string[],
): { readonly ciphers: string; readonly unknown: readonly string[] } => {
  const own = names.filter((name) => !ALWAYS.includes(name))
  const known = own.flatMap((name) => (Object.hasOwn(SUITES, name) ? [SUITES[name] ?? ''] : []))
  const unknown = own.filter((name) => !Object.hasOwn(SUITES, name))
  return { ciphers: names.length === 0 ? '' : [...ALWAYS, ...new Set(known)].join(':'), unknown }
}
