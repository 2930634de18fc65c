import type { ReplicationHost } from '../host/host.js'
import { isDormant } from '../model/machine.js'
import { ownEpochsOf, type SecondaryRecord } from '../model/state.js'
import type { Kind, PeerIdentity } from '../model/types.js'
import { KINDS, type RoleRecords } from './role-records.js'

/** Returns the identity that a member presents while it follows. */
export const whoOfSecondary = (
  host: Pick<ReplicationHost, 'identity'>,
  record: Pick<SecondaryRecord, 'setId' | 'epochs' | 'incarnation'>,
): PeerIdentity => ({
  setId: record.setId,
  clusterId: host.identity.clusterId,
  version: host.identity.reportedVersion,
  epochs: record.epochs,
  apiAddress: host.identity.apiAddress,
  clusterAddresses: host.identity.clusterAddresses.filter((address) => address !== ''),
  incarnation: record.incarnation,
})

/**
 * Returns the identity that a cluster presents with an activation token:
 * - `ended`: the epochs of both kinds that this cluster gave up. The new primary starts epochs with higher numbers, because
 *   any cluster may have reported these epochs to it.
 * - `epochs`: on an overtaken primary, the epochs of its overtaker; otherwise empty
 */
export const whoOfJoiner = (
  host: Pick<ReplicationHost, 'identity'>,
  roles: Pick<RoleRecords, 'records' | 'facts'>,
  { kind, setId, isMember }: { readonly kind: Kind; readonly setId: string; readonly isMember: boolean },
): PeerIdentity => {
  const { records } = roles
  const facts = roles.facts()
  const isLive = (one: Kind) => records[one].mode === 'primary' && !isDormant(one, facts)
  const ended = KINDS.flatMap((one) => (isLive(one) ? [] : ownEpochsOf(records, one)))
  const plain = { ...whoOfSecondary(host, { setId, epochs: [], incarnation: 0 }), ended }
  const record = records[kind]
  return isMember && record.mode === 'secondary' && record.overtaker
    ? { ...plain, epochs: record.overtaker.epochs }
    : plain
}
