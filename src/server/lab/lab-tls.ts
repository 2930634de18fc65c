import { X509Certificate } from 'node:crypto'
import { existsSync } from 'node:fs'
import { replaceFile } from '../../base/replace-file.js'
import os from 'node:os'
import path from 'node:path'
import { readNamedFile } from '../../base/named-file.js'
import { makeDirectory } from '../../base/make-directory.js'
import { type ApiCertificates, createApiCertificates } from '../../crypto/api-certificates.js'

/** TLS files of a lab, all in PEM. */
export interface LabTls {
  readonly caFile: string
  readonly certFile: string
  readonly keyFile: string
}

export const labTlsFiles = (directory: string): LabTls => ({
  caFile: path.join(directory, 'ca.pem'),
  certFile: path.join(directory, 'cert.pem'),
  keyFile: path.join(directory, 'key.pem'),
})

/** The names by which local clients reach a server. */
const LOCAL = ['localhost', '127.0.0.1', '::1']

/** Creates a CA, and one certificate for local clients and the given server names. */
export const createLabCertificates = (names: readonly string[], nowMs: number): Promise<ApiCertificates> =>
  createApiCertificates([...new Set([...LOCAL, ...names])], nowMs)

/** Creates these certificates and writes them to files. */
export const makeLabTls = async (
  directory: string,
  nowMs: number,
  names: readonly string[] = [os.hostname()],
): Promise<LabTls> => {
  const files = labTlsFiles(directory)
  const { ca, certificate, privateKey } = await createLabCertificates(names, nowMs)
  makeDirectory(directory, 0o700)
  replaceFile(files.caFile, ca, 0o644)
  replaceFile(files.certFile, certificate, 0o644)
  replaceFile(files.keyFile, privateKey)
  return files
}

/** Certificates that expire sooner are renewed, so that they do not expire while a server runs. */
const RENEWED_BEFORE_MS = 30 * 86_400_000

/** Returns whether the files exist, and their certificate is valid long enough and covers all names. */
export const isGoodFor = (files: LabTls, names: readonly string[], nowMs: number): boolean => {
  if (!Object.values(files).every((file) => existsSync(file))) return false
  const certificate = new X509Certificate(readNamedFile(files.certFile))
  return (
    Date.parse(certificate.validTo) - nowMs > RENEWED_BEFORE_MS &&
    names.every((name) => certificate.checkHost(name) !== undefined)
  )
}
