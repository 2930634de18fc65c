import type { DevServer, PlainRecord, ReplicationHost } from '../host/host.js'
import type { Kind } from '../model/types.js'
import { KEYS } from '../../storage/keys/key-families.js'

/**
 * If two servers run in dev mode, the root token of the primary becomes a root token of its performance secondary,
 * because joining deletes the secondary's own root token. The bootstrap package contains the token. The secondary
 * stores the token encrypted until the first copy is complete. Only servers in dev mode request, send or accept the
 * token.
 */

export const wantsDevRoot = ({ settings }: Pick<ReplicationHost, 'settings'>, kind: Kind): boolean =>
  settings.isDevelopment && kind === 'performance'

/** Returns the JSON with the root token for the bootstrap package of a secondary that requested it. */
export const offerDevRoot = (dev: DevServer | undefined, kind: Kind): string => {
  const token = kind === 'performance' ? dev?.findRootToken() : undefined
  return JSON.stringify(token === undefined ? {} : { dev_root_token: token })
}

/** Returns the records of the root token that a secondary stores after it received the bootstrap package. */
export const keepDevRoot = (host: Pick<ReplicationHost, 'settings'>, kind: Kind, extra: string): PlainRecord[] => {
  const { dev_root_token: token } = JSON.parse(extra || '{}') as { dev_root_token?: unknown }
  if (!wantsDevRoot(host, kind) || typeof token !== 'string') return []
  return [{ key: KEYS.devRoot, value: Buffer.from(token) }]
}

/**
 * Creates the received root token after the first copy. Only logs a failure, because the operator can still generate a
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
    log.warn('cannot create the root token of the dev-mode primary on this cluster', { error: String(error) })
  }
}
