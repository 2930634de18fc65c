import type { Storage } from '../../logical/storage.js'
import type { PlainRecord } from '../../replication/host/host.js'
import { KEYS } from '../../storage/keys/key-families.js'

/** What the nodes of a cluster know one another by, with plain values: it stays good whatever becomes of the rest of the data. */
export const nodeRecords = async (storage: Storage): Promise<readonly PlainRecord[]> =>
  [KEYS.nodeAuthority, KEYS.autopilot, KEYS.revokedNodes, ...(await storage.keys(KEYS.peers))].flatMap((key) => {
    const value = storage.get(key)
    return value ? [{ key, value }] : []
  })
