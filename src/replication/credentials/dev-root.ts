import type { DevServer, PlainRecord, ReplicationHost } from '../host/host.js'
import type { Kind } from '../model/types.js'
import { KEYS } from '../../storage/keys/key-families.js'

/**
 * If two servers run in dev mode, the root token of the primary becomes a root token of its performance secondary.
 * Joining deletes the secondary's own root token. The token is part of the bootstrap package, and is stored encrypted
 * until the first copy is complete. Only servers started with -dev request, send or accept it.
 */

export const wantsDevRoot = ({ settings }: Pick<ReplicationHost, 'settings'>, kind: Kind): boolean =>
  settings.isDevelopment && kind === 'performance'

/** Returns the JSON that a primary adds to the bootstrap package of a secondary that requested the root token. */
export const offerDevRoot = (dev: DevServer | undefined, kind: Kind): string => {
  const token = kind === 'performance' ? dev?.findRootToken() : undefined
  return JSON.stringify(token === undefined ? {} : { dev_root_token: token })
}

/** Returns the records that a secondary copies from the bootstrap package into its new storage. */
export const keepDevRoot = (host: Pick<ReplicationHost, 'settings'>, kind: Kind, extra: string): PlainRecord[] => {
  const { dev_root_token: token } = JSON.parse(extra || '{}') as { dev_root_token?: unknown }
  if (!wantsDevRoot(host, kind) || typeof token !== 'string') return []
  return [{ key: KEYS.devRoot, value: Buffer.from(token) }]
}

/**
 * Creates the root token at the end of the bootstrap. Only logs a failure, because the operator can still generate a
 * root token with the key shares.
 */
export const plantDevRoot = async (
  dev: DevServer | undefined,
  { storage, log }: Pick<ReplicationHost, 'storage' | 'log'>,
): Promise<void> => {
  const token = storage.get(KEYS.devRoot)?.toString()
  if (token === undefined) return
  try {
    await dev?.plantRootToken(token)
    await storage.write((tx) => tx.delete(KEYS.devRoot))
  } catch (error) {
    log.warn('the root token of the dev-mode primary could not be created on this cluster', { error: String(error) })
  }
}
