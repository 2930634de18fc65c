import { createSecureContext } from 'node:tls'
import { readNamedFile } from '../../base/named-file.js'
import { LIMITS } from '../../base/limits.js'
import { isNamespacePath, normalizeNamespacePath } from '../../logical/namespace-path.js'
import { WITHHOLDABLE, type Withheld } from '../../logical/request.js'
import type { ListenerConfig, ListenerTls } from './config.js'
import { checkAddress, checkNetworks, withPort } from './addresses.js'
import { resolveProxyProtocol } from './proxy-protocol.js'
import { parseCipherSuites } from './cipher-suites.js'
import type { ConfigSources } from './sources.js'
import type { Findings, Stanza } from './tree.js'
import { nonEmpty, type Sourced, textOf } from './values.js'
import { DEFAULT_ORIGIN, fromFlag, fromVariable, type ResolvedSettings } from './resolved-settings.js'

const TLS_VERSIONS: Readonly<Record<string, string>> = {
  tls10: 'TLSv1',
  tls11: 'TLSv1.1',
  tls12: 'TLSv1.2',
  tls13: 'TLSv1.3',
}

/**
 * Resolves all listeners, with that of development mode first. Its certificate is created at startup, so it has no files
 * here.
 */
export const resolveListeners = (sources: ConfigSources): ListenerConfig[] => {
  const { flags, env, files, findings } = sources
  const configured = files.listeners.filter((stanza) => {
    if (stanza.label === 'tcp') return true
    findings.problems.push({
      origin: stanza.origin,
      text: `listener "${stanza.label}" is not supported; supported is tcp`,
    })
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
  const stanza: Stanza = {
    label: 'tcp',
    origin: '-dev',
    values: {
      ...(address && { address }),
      tls_disable: { value: !flags.devTls, origin: flags.devTls ? '-dev-tls' : '-dev' },
    },
    body: { items: [], line: 1, column: 1 },
  }
  return resolveListener(sources, stanza, 'listener[0]', MADE_AT_START)
}

const MADE_AT_START: ListenerTls = {
  certFile: '',
  keyFile: '',
  clientCaFile: '',
  requireClientCert: false,
  disableClientCerts: false,
  minVersion: 'TLSv1.2',
}

const WITHHELD_BY: Readonly<Record<Withheld, string>> = {
  addresses: 'redact_addresses',
  'cluster-name': 'redact_cluster_name',
  version: 'redact_version',
  'replication-status': 'disable_replication_status_endpoints',
}

/** Resolves one listener. `tls` replaces the files of the stanza. */
const resolveListener = (sources: ConfigSources, stanza: Stanza, name: string, tls?: ListenerTls): ListenerConfig => {
  const { settled, findings } = sources
  const { values, origin } = stanza
  const at = (key: string) => `${name}.${key}`
  const address = withPort(settled.text(at('address'), [nonEmpty(values.address)], '127.0.0.1:8200'), 8200)
  checkAddress('address', { value: address, origin: values.address?.origin ?? origin }, findings)
  const isTls = !settled.flag(at('tls_disable'), [values.tls_disable])
  const size = (key: string, fallback: number) => settled.number(at(key), [values[key]], fallback)
  const time = (key: string, fallbackMs: number) => settled.durationMs(at(key), [values[key]], fallbackMs)
  const flag = (key: string) => settled.flag(at(key), [values[key]])
  const authorizedAddresses = settled.list(at('x_forwarded_for_authorized_addrs'), [
    values.x_forwarded_for_authorized_addrs,
  ])
  const proxiesOrigin = values.x_forwarded_for_authorized_addrs?.origin ?? origin
  checkNetworks('x_forwarded_for_authorized_addrs', authorizedAddresses, proxiesOrigin, findings)
  return {
    address,
    tls: isTls ? (tls ?? resolveTls(stanza, name, settled, findings)) : undefined,
    maxRequestBytes: size('max_request_size', LIMITS.bodyBytesMax),
    maxRequestMs: time('max_request_duration', LIMITS.requestMs),
    headerReadMs: time('http_read_header_timeout', LIMITS.headerReadMs),
    bodyReadMs: time('http_read_timeout', LIMITS.bodyReadMs),
    idleMs: time('http_idle_timeout', LIMITS.idleMs),
    forwardedFor: {
      authorizedAddresses,
      hopSkips: size('x_forwarded_for_hop_skips', 0),
      rejectNotAuthorized: flag('x_forwarded_for_reject_not_authorized'),
      rejectNotPresent: flag('x_forwarded_for_reject_not_present'),
    },
    proxyProtocol: resolveProxyProtocol(sources, stanza, name),
    chrootNamespace: resolveChroot(sources, stanza, at('chroot_namespace')),
    withheld: WITHHOLDABLE.filter((what) => flag(WITHHELD_BY[what])),
  }
}

const resolveChroot = ({ settled, findings }: ConfigSources, { values }: Stanza, name: string): string => {
  const setting = values.chroot_namespace
  const path = normalizeNamespacePath(settled.text(name, [setting]))
  if (setting && path !== '' && !isNamespacePath(path)) {
    const text = `chroot_namespace: "${textOf(setting)}" is not the path of a namespace such as team/child`
    findings.problems.push({ origin: setting.origin, text })
  }
  return path
}

const resolveTls = (
  { values, origin }: Stanza,
  name: string,
  settled: ResolvedSettings,
  findings: Findings,
): ListenerTls => {
  const at = (key: string) => `${name}.${key}`
  const text = (key: string, fallback = '') => settled.text(at(key), [nonEmpty(values[key])], fallback)
  const certFile = text('tls_cert_file')
  const keyFile = text('tls_key_file')
  const clientCaFile = text('tls_client_ca_file')
  const originOf = (key: string) => values[key]?.origin ?? origin
  const flag = (key: string) => settled.flag(at(key), [values[key]])
  const version = text('tls_min_version', 'tls12')
  const newest = text('tls_max_version', 'tls13')
  const suites = parseCipherSuites(settled.list(at('tls_cipher_suites'), [values.tls_cipher_suites]))
  const requireClientCert = flag('tls_require_and_verify_client_cert')
  const disableClientCerts = flag('tls_disable_client_certs')
  const refuse = (key: string, reason: string) => findings.problems.push({ origin: originOf(key), text: reason })
  if (!TLS_VERSIONS[newest] || newest < 'tls12' || newest < version)
    refuse('tls_max_version', `tls_max_version "${newest}" is not tls12 or tls13, or is older than tls_min_version`)
  for (const name of suites.unknown) refuse('tls_cipher_suites', `tls_cipher_suites: "${name}" is not known`)
  if (requireClientCert && disableClientCerts) {
    const [one, other] = ['tls_disable_client_certs', 'tls_require_and_verify_client_cert']
    refuse(one, `'${one}' and '${other}' are mutually exclusive`)
  }
  if (certFile === '' || keyFile === '') {
    findings.problems.push({ origin, text: 'tls_cert_file and tls_key_file are required unless tls_disable is true' })
  }
  if (!TLS_VERSIONS[version])
    findings.problems.push({
      origin: values.tls_min_version?.origin ?? origin,
      text: `tls_min_version "${version}" is not known`,
    })
  else if (version < 'tls12')
    findings.warnings.push({
      origin: values.tls_min_version?.origin ?? origin,
      text: `tls_min_version "${version}" is taken for tls12: older versions are not served`,
    })
  checkFiles(values, findings)
  return {
    certFile,
    keyFile,
    clientCaFile,
    requireClientCert,
    disableClientCerts,
    minVersion: TLS_VERSIONS[version] ?? 'TLSv1.2',
    maxVersion: TLS_VERSIONS[newest] ?? '',
    ciphers: suites.ciphers,
  }
}

/** Checks that each file exists and has the expected content, and that certificate and key match. */
const checkFiles = (values: Stanza['values'], findings: Findings): void => {
  const cert = readSetting(values.tls_cert_file, findings)
  const key = readSetting(values.tls_key_file, findings)
  const ca = readSetting(values.tls_client_ca_file, findings)
  const isCertGood = cert === undefined || accepts(values.tls_cert_file, 'certificate', { cert }, findings)
  const isKeyGood = key === undefined || accepts(values.tls_key_file, 'private key', { key }, findings)
  if (ca !== undefined) accepts(values.tls_client_ca_file, 'certificate', { ca }, findings)
  if (cert && key && isCertGood && isKeyGood) accepts(values.tls_key_file, '', { cert, key }, findings)
}

const readSetting = (file: Sourced | undefined, findings: Findings): Buffer | undefined => {
  if (!file || textOf(file) === '') return undefined
  try {
    return readNamedFile(textOf(file))
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    findings.problems.push({ origin: file.origin, text: `${textOf(file)} cannot be read: ${reason}` })
    return undefined
  }
}

const accepts = (
  file: Sourced | undefined,
  what: string,
  material: Readonly<Record<string, Buffer>>,
  findings: Findings,
): boolean => {
  try {
    if (material.ca && !material.ca.includes('-----BEGIN CERTIFICATE-----')) throw new Error('no PEM certificate')
    createSecureContext(material)
    return true
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    const text = what === '' ? 'does not belong to the certificate' : `holds no usable ${what}`
    findings.problems.push({ origin: file?.origin ?? DEFAULT_ORIGIN, text: `${textOf(file)} ${text}: ${reason}` })
    return false
  }
}
