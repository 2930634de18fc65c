import type { Storage } from '../../logical/storage.js'
import type { PlainRecord } from '../../replication/host/host.js'
import { KEYS } from '../../storage/keys/key-families.js'

/**
 * Returns the records by which nodes of a cluster authenticate each other, with plaintext values. They stay valid when the
 * other data is replaced.
 */
export const nodeRecords = async (storage: Storage): Promise<readonly PlainRecord[]> =>
  [KEYS.nodeAuthority, KEYS.autopilot, KEYS.revokedNodes, ...(await storage.keys(KEYS.peers))].flatMap((key) => {
    const value = storage.get(key)
    return value ? [{ key, value }] : []
  })
