import path from 'node:path'
import type { Log } from '../../base/log.js'
import { invalid, LogicalError } from '../../logical/errors.js'
import { ROOT_NAMESPACE } from '../../logical/request.js'
import type { ServerConfig } from '../config/config.js'
import type { Runtime } from '../runtime/runtime.js'
import { existsSync } from 'node:fs'
import { replaceFile } from '../../base/replace-file.js'
import { readNamedText } from '../../base/named-file.js'

/**
 * Initializes and unseals a development server: one key share, a root token with a custom ID, and `secret/`. With a data
 * directory, a restart unseals with the key stored next to the data. Returns undefined if the server has joined another
 * cluster since, whose key is required instead.
 */
export const openDev = async (runtime: Runtime, config: ServerConfig, log: Log): Promise<DevSecrets | undefined> => {
  const keyFile = config.storage.path === undefined ? undefined : path.join(config.storage.path, 'dev.key')
  const { seal } = runtime
  if (seal.isInitialized) {
    const known = keyFile ? readDevKey(keyFile) : undefined
    if (!known) throw invalid('this data directory holds a cluster that was not made by -dev: start it without')
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
  if (!made.share) throw new Error('a seal without shares')
  await seal.unseal(made.share)
  const cluster = runtime.cluster
  if (!cluster) throw new Error('an unsealed runtime without a cluster')
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
 * Reads the secrets with which a development server with a data directory unseals itself. The file is readable only by its
 * owner.
 */
export const readDevKey = (file: string): DevSecrets | undefined =>
  existsSync(file) ? (JSON.parse(readNamedText(file)) as DevSecrets) : undefined

export const writeDevKey = (file: string, secrets: DevSecrets): void => {
  replaceFile(file, `${JSON.stringify(secrets)}\n`)
}
