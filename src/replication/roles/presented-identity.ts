import type { ReplicationHost } from '../host/host.js'
import { isDormant } from '../model/machine.js'
import { ownEpochsOf, type SecondaryRecord } from '../model/state.js'
import type { Kind, PeerIdentity } from '../model/types.js'
import { KINDS, type RoleRecords } from './role-records.js'

/** Returns the identity that a secondary presents to its primary. */
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
 * - `ended`: the epochs of both kinds in which this cluster was primary. The new primary must start epochs with higher
 *   numbers, because clusters that know these epochs would otherwise fence it
 * - `epochs`: on a former primary that was overtaken, the epochs of the newer primary; otherwise empty
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
