import path from 'node:path'
import type { Log } from '../../base/log.js'
import { invalid, LogicalError } from '../../logical/errors.js'
import { ROOT_NAMESPACE } from '../../logical/request.js'
import type { ServerConfig } from '../config/config.js'
import type { Runtime } from '../runtime/runtime.js'
import { existsSync } from 'node:fs'
import { replaceFile } from '../../base/replace-file.js'
import { readNamedFile, readNamedText } from '../../base/named-file.js'
import os from 'node:os'
import type { Clock } from '../../base/clock.js'
import { makeDirectory } from '../../base/make-directory.js'
import { parseHostPort } from '../../base/network.js'
import { makeTemporaryDirectory } from '../../base/temporary-directory.js'
import { type ApiCertificates, createApiCertificates } from '../../crypto/certificates.js'
import { X509Certificate } from 'node:crypto'

/**
 * Initializes and unseals a server in dev mode: one key share, a root token with the configured ID, and a kv mount at
 * `secret/`. With a data directory, a restart unseals the server with the key that is stored next to the data. If the
 * server has joined another cluster since, it needs the key of that cluster: it stays sealed, and the result is
 * undefined. Rejects with LogicalError 400 if the data is not that of a server in dev mode.
 */
export const openDev = async (runtime: Runtime, config: ServerConfig, log: Log): Promise<DevSecrets | undefined> => {
  const keyFile = config.storage.path === undefined ? undefined : path.join(config.storage.path, 'dev.key')
  const { seal } = runtime
  if (seal.isInitialized) {
    const known = keyFile ? readDevKey(keyFile) : undefined
    if (!known)
      throw invalid('the cluster in this data directory was not created with -dev: start the server without -dev')
    try {
      await seal.unseal(Buffer.from(known.unsealKey, 'hex'))
      return known
    } catch (error) {
      if (!(error instanceof LogicalError) || error.code !== 'invalid-request') throw error
      log.warn('the server has joined another cluster and stays sealed: unseal it with the key of its primary')
      return undefined
    }
  }
  const made = await seal.initialize({ shares: 1, threshold: 1 }, async ({ shares, rootToken }) => ({
    share: shares[0],
    rootToken,
  }))
  if (!made.share) throw new Error('the seal has created no key share')
  await seal.unseal(made.share)
  const cluster = runtime.cluster
  if (!cluster) throw new Error('the server is unsealed, but the cluster is not open')
  const { tokens, mounts } = cluster.services
  const wanted = config.dev?.rootTokenId ?? ''
  const rootToken = wanted === '' ? made.rootToken : (await tokens.createRoot(wanted)).id
  const kvVersion = config.dev?.kvVersion
  if (kvVersion) {
    await mounts.enable('secret', ROOT_NAMESPACE, 'secret/', {
      type: 'kv',
      description: 'key/value secret storage',
      config: {},
      options: { version: kvVersion },
      isLocal: false,
      sealWrap: false,
      externalEntropyAccess: false,
    })
  }
  const secrets = { rootToken, unsealKey: made.share.toString('hex') }
  if (keyFile) writeDevKey(keyFile, secrets)
  return secrets
}

export interface DevSecrets {
  readonly rootToken: string
  readonly unsealKey: string
}

/**
 * Reads the file with the secrets with which a server in dev mode unseals itself. Only its owner can read the file.
 * Returns undefined if the file does not exist.
 */
export const readDevKey = (file: string): DevSecrets | undefined =>
  existsSync(file) ? (JSON.parse(readNamedText(file)) as DevSecrets) : undefined

export const writeDevKey = (file: string, secrets: DevSecrets): void => {
  replaceFile(file, `${JSON.stringify(secrets)}\n`)
}

/** Paths of TLS files in PEM format. */
export interface TlsFiles {
  readonly caFile: string
  readonly certFile: string
  readonly keyFile: string
}

/** The TLS files of `-dev-tls`, with Vault's file names. */
export interface DevCertificates extends TlsFiles {
  /** True if the directory is temporary and removed when the server stops. */
  readonly isTemporary: boolean
  readonly directory: string
}

const filesIn = (directory: string, prefix: string): TlsFiles => ({
  caFile: path.join(directory, `${prefix}ca.pem`),
  certFile: path.join(directory, `${prefix}cert.pem`),
  keyFile: path.join(directory, `${prefix}key.pem`),
})

const writeFiles = (files: TlsFiles, { ca, certificate, privateKey }: ApiCertificates): void => {
  replaceFile(files.caFile, ca, 0o644)
  replaceFile(files.certFile, certificate, 0o644)
  replaceFile(files.keyFile, privateKey)
}

/** The names with which local clients address a server. */
const LOCAL = ['localhost', '127.0.0.1', '::1']

/** Creates a CA, and one certificate for local clients and for the given server names. */
export const createLabCertificates = (names: readonly string[], nowMs: number): Promise<ApiCertificates> =>
  createApiCertificates([...new Set([...LOCAL, ...names])], nowMs)

/**
 * Creates a CA and a certificate for the listener of dev mode, and writes them to files. Resolves to the configuration
 * with these files. Without `-dev-tls`, resolves to the unchanged configuration. Rejects with the system's error if the
 * directory is not writable.
 */
export const prepareDevTls = async (
  config: ServerConfig,
  clock: Clock,
): Promise<{ readonly config: ServerConfig; readonly certificates: DevCertificates | undefined }> => {
  const wanted = config.dev?.tls
  const [listener, ...others] = config.listeners
  if (!wanted || !listener?.tls) return { config, certificates: undefined }
  const isTemporary = wanted.directory === ''
  const directory = isTemporary ? makeTemporaryDirectory('tls') : path.resolve(wanted.directory)
  if (!isTemporary) makeDirectory(directory, 0o755)
  const { host } = parseHostPort(listener.address)
  const bound = ['', '0.0.0.0', '::'].includes(host) ? [] : [host]
  const made = await createLabCertificates([os.hostname(), ...bound, ...wanted.extraHosts], clock.now())
  const certificates = { isTemporary, directory, ...filesIn(directory, 'vault-') }
  writeFiles(certificates, made)
  const { certFile, keyFile } = certificates
  const secure = { ...listener, tls: { ...listener.tls, certFile, keyFile } }
  return { config: { ...config, listeners: [secure, ...others] }, certificates }
}

export const labTlsFiles = (directory: string): TlsFiles => filesIn(directory, '')

/** Creates the certificates for the servers of a lab, and writes them to files in `directory`. */
export const makeLabTls = async (
  directory: string,
  nowMs: number,
  names: readonly string[] = [os.hostname()],
): Promise<TlsFiles> => {
  const files = labTlsFiles(directory)
  const made = await createLabCertificates(names, nowMs)
  makeDirectory(directory, 0o700)
  writeFiles(files, made)
  return files
}

/**
 * Certificates that expire within this time (in milliseconds) are renewed, so that they do not expire while a server
 * runs.
 */
const RENEWED_BEFORE_MS = 30 * 86_400_000

/** Returns true if the files exist, and if their certificate is valid for long enough and covers all names. */
export const isGoodFor = (files: TlsFiles, names: readonly string[], nowMs: number): boolean => {
  if (!Object.values(files).every((file) => existsSync(file))) return false
  const certificate = new X509Certificate(readNamedFile(files.certFile))
  return (
    Date.parse(certificate.validTo) - nowMs > RENEWED_BEFORE_MS &&
    names.every((name) => certificate.checkHost(name) !== undefined)
  )
}
