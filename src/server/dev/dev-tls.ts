import { replaceFile } from '../../base/replace-file.js'
import os from 'node:os'
import path from 'node:path'
import type { Clock } from '../../base/clock.js'
import { makeDirectory } from '../../base/make-directory.js'
import { parseHostPort } from '../../base/network.js'
import { makeTemporaryDirectory } from '../../base/temporary-directory.js'
import { createApiCertificates } from '../../crypto/api-certificates.js'
import type { ServerConfig } from '../config/config.js'

/** The files of `-dev-tls`, by the names that scripts know. */
export interface DevCertificates {
  /** Made for this run, to be removed when it ends. */
  readonly isTemporary: boolean
  readonly directory: string
  readonly caFile: string
  readonly certFile: string
  readonly keyFile: string
}

/**
 * Makes a CA and a certificate for the development listener and writes them. Resolves to the configuration that uses
 * them; one without `-dev-tls` stays as it is. Rejects with the system's error when the directory cannot be written.
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

/** Names and addresses that clients of this machine may use; what was asked for beside them. */
const hostsOf = (address: string, extraHosts: readonly string[]): string[] => {
  const { host } = parseHostPort(address)
  const isWildcard = ['', '0.0.0.0', '::'].includes(host)
  return [...new Set(['localhost', '127.0.0.1', '::1', os.hostname(), ...(isWildcard ? [] : [host]), ...extraHosts])]
}
