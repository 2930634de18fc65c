import { uuid } from '../../base/id.js'
import type { Random } from '../../base/random.js'
import { type ReadStorage, readJson } from '../../logical/storage.js'
import type { Store } from '../../storage/store/store.js'
import { KEYS } from '../../storage/keys/key-families.js'

export interface OwnIdentity {
  readonly clusterId: string
  readonly clusterName: string
}

export const findIdentity = (store: ReadStorage): OwnIdentity | undefined =>
  readJson<OwnIdentity>(store, KEYS.clusterIdentity)

/** Id and name of this very cluster: made once, kept through wipes. A configured name wins over the one that was made. */
export const ensureIdentity = async (store: Store, configuredName: string, random: Random): Promise<OwnIdentity> => {
  const known = findIdentity(store)
  const clusterName = configuredName || known?.clusterName || `vault-cluster-${random.bytes(4).toString('hex')}`
  if (known?.clusterName === clusterName) return known
  const identity = { clusterId: known?.clusterId ?? uuid(random), clusterName }
  await store.write((tx) => tx.put(KEYS.clusterIdentity, Buffer.from(JSON.stringify(identity))))
  return identity
}
