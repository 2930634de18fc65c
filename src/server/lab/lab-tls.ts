import { mkdirSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { createApiCertificates } from '../../crypto/api-certificates.js'

/** Files of the TLS of a lab, all PEM. */
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

/** Makes a CA, and one certificate for whatever clients of this machine call the servers of a lab. */
export const makeLabTls = async (directory: string, nowMs: number): Promise<LabTls> => {
  const files = labTlsFiles(directory)
  const hosts = ['localhost', '127.0.0.1', '::1', os.hostname()]
  const { ca, certificate, privateKey } = await createApiCertificates([...new Set(hosts)], nowMs)
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  writeFileSync(files.caFile, ca, { mode: 0o644 })
  writeFileSync(files.certFile, certificate, { mode: 0o644 })
  writeFileSync(files.keyFile, privateKey, { mode: 0o600 })
  return files
}
