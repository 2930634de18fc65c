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

/** Creates the ID and name of this cluster once; they survive a wipe. A configured name overrides the generated one. */
export const ensureIdentity = async (store: Store, configuredName: string, random: Random): Promise<OwnIdentity> => {
  const known = findIdentity(store)
  const clusterName = configuredName || known?.clusterName || `vault-cluster-${random.bytes(4).toString('hex')}`
  if (known?.clusterName === clusterName) return known
  const identity = { clusterId: known?.clusterId ?? uuid(random), clusterName }
  await store.write((tx) => tx.put(KEYS.clusterIdentity, Buffer.from(JSON.stringify(identity))))
  return identity
}
