import { replaceFile } from '../../base/replace-file.js'
import os from 'node:os'
import path from 'node:path'
import type { Clock } from '../../base/clock.js'
import { makeDirectory } from '../../base/make-directory.js'
import { parseHostPort } from '../../base/network.js'
import { makeTemporaryDirectory } from '../../base/temporary-directory.js'
import { createApiCertificates } from '../../crypto/api-certificates.js'
import type { ServerConfig } from '../config/config.js'

/** The files of `-dev-tls`, under Vault's names. */
export interface DevCertificates {
  /** Created for this run, and removed when it ends. */
  readonly isTemporary: boolean
  readonly directory: string
  readonly caFile: string
  readonly certFile: string
  readonly keyFile: string
}

/**
 * Creates a CA and a certificate for the development listener and writes them. Resolves to the configuration that uses them,
 * or to the unchanged one without `-dev-tls`. Rejects with the system's error if the directory is not writable.
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
  const made = await createApiCertificates(hostsOf(listener.address, wanted.extraHosts), clock.now())
  const write = (name: string, text: string, mode: number): string => {
    const file = path.join(directory, name)
    replaceFile(file, text, mode)
    return file
  }
  const certificates: DevCertificates = {
    isTemporary,
    directory,
    caFile: write('vault-ca.pem', made.ca, 0o644),
    certFile: write('vault-cert.pem', made.certificate, 0o644),
    keyFile: write('vault-key.pem', made.privateKey, 0o600),
  }
  const { certFile, keyFile } = certificates
  const secure = { ...listener, tls: { ...listener.tls, certFile, keyFile } }
  return { config: { ...config, listeners: [secure, ...others] }, certificates }
}

/** Returns the names and addresses that local clients may use, and the requested extra ones. */
const hostsOf = (address: string, extraHosts: readonly string[]): string[] => {
  const { host } = parseHostPort(address)
  const isWildcard = ['', '0.0.0.0', '::'].includes(host)
  return [...new Set(['localhost', '127.0.0.1', '::1', os.hostname(), ...(isWildcard ? [] : [host]), ...extraHosts])]
}
