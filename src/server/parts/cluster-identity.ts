import { uuid } from '../../base/id.js'
import type { Random } from '../../base/random.js'
import { readJson, type ReadStorage } from '../../logical/storage.js'
import type { Store } from '../../storage/store/store.js'
import { KEYS } from '../../storage/keys/key-families.js'
import { invalid } from '../../logical/errors.js'
import { kindName } from '../../replication/model/guard-texts.js'
import type { License } from '../../replication/model/machine.js'
import { recordKey } from '../../replication/model/state.js'
import type { Kind } from '../../replication/model/types.js'

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

const NOT_INCLUDED: Readonly<Record<License, readonly Kind[]>> = {
  enterprise: [],
  plus: ['dr'],
  none: ['dr', 'performance'],
}

/**
 * Throws if the license does not include a role of the cluster. Checks only whether the record of a role exists, since its
 * content is encrypted and the server may be sealed.
 */
export const requireLicensedRoles = (license: License, store: { get(key: string): Buffer | undefined }): void => {
  const kind = NOT_INCLUDED[license].find((candidate) => store.get(recordKey(candidate)) !== undefined)
  if (!kind) return
  throw invalid(
    `the license "${license}" does not include ${kindName(kind)} replication, in which this cluster has a role: ` +
      'start it with the license it had, and disable replication first',
  )
}
