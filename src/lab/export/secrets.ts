import { existsSync, renameSync, rmSync } from 'node:fs'
import { replaceFile } from '../../base/replace-file.js'
import path from 'node:path'
import { makeDirectory } from '../../base/make-directory.js'
import type { Random } from '../../base/random.js'
import { isGoodFor, labTlsFiles, makeLabTls } from '../../server/dev/dev.js'
import { newSealKey } from '../model/seal-key.js'

/** Returns the path of a cluster's auto-unseal key below the directory of secrets. */
export const sealKeyFile = (directory: string, cluster: string): string => path.posix.join(directory, `${cluster}.key`)

/**
 * Creates missing secrets and keeps existing ones, so it can run with every start. Renews certificates that have
 * expired or have other names. Only the owner can read keys. Returns a description of the new files. `hosts`: the DNS
 * names in the certificates; if empty, no certificates are created. `clusters`: the clusters with auto-unseal.
 */
export const makeSecrets = async (
  directory: string,
  { hosts, clusters }: { readonly hosts: readonly string[]; readonly clusters: readonly string[] },
  { random, nowMs }: { readonly random: Random; readonly nowMs: number },
): Promise<string[]> => {
  makeDirectory(directory, 0o700)
  const created: string[] = []
  if (hosts.length > 0 && !isGoodFor(labTlsFiles(directory), hosts, nowMs)) {
    await makeCertificates(directory, hosts, nowMs)
    created.push(`a certificate for ${hosts.join(', ')}`)
  }
  for (const cluster of clusters) {
    const file = sealKeyFile(directory, cluster)
    if (existsSync(file)) continue
    replaceFile(file, `${newSealKey(random).toString('hex')}\n`)
    created.push(`the auto-unseal key of ${cluster}`)
  }
  return created
}

/** Creates the certificates, then their key. If the key exists, the certificates exist as well. */
const makeCertificates = async (directory: string, hosts: readonly string[], nowMs: number): Promise<void> => {
  const draft = path.join(directory, `.draft-${process.pid}`)
  try {
    const drafts = await makeLabTls(draft, nowMs, hosts)
    const files = labTlsFiles(directory)
    for (const one of ['caFile', 'certFile', 'keyFile'] as const) renameSync(drafts[one], files[one])
  } finally {
    rmSync(draft, { recursive: true, force: true })
  }
}
