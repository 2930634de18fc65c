import type { ApiClient } from '../../client/api-client.js'
import { KINDS, type Kind } from '../model/kinds.js'
import { idOf } from '../requests/replication.js'
import { isDetached, NO_STATUS } from '../requests/replication-status.js'
import type { RoleHolder } from '../requests/find-primary.js'
import { askCluster } from './observe.js'

/** The roles of a cluster. `health`: the status code of `sys/health`, if it is known. */
interface Ranked extends RoleHolder {
  readonly health?: number | null
}

/** A former primary that does not follow its successor yet. Its losses are unknown until it does. */
export interface Replaced {
  readonly name: string
  readonly kind: Kind
  readonly successor: string
}

/** A lab whose clusters can be asked for their roles. */
interface AskableLab {
  readonly clusters: readonly { readonly name: string }[]
  anonymous(name: string): ApiClient
}

/** Asks the clusters of a lab for their roles, and returns `findReplaced`. Ignores clusters that do not respond. */
export const askReplaced = async (lab: AskableLab): Promise<Replaced[]> => {
  const ask = async ({ name }: { readonly name: string }): Promise<Ranked> => ({
    ...{ name, health: null, dr: NO_STATUS, performance: NO_STATUS },
    ...(await askCluster(lab.anonymous(name)).catch(() => undefined)),
  })
  return findReplaced(await Promise.all(lab.clusters.map(ask)))
}

/**
 * Returns the former primaries of replication sets that have another primary now. Omits a demoted primary with the data
 * of its successor. If the roles of a split brain do not show which primary is newer, returns each of its primaries.
 */
export const findReplaced = (clusters: readonly Ranked[]): Replaced[] =>
  clusters.flatMap((one) => {
    const found = KINDS.flatMap((kind) =>
      clusters
        .filter((other) => other !== one && isSuccessor(one, other, kind))
        .map((other) => ({ name: one.name, kind, successor: other.name })),
    )
    return found.slice(0, 1)
  })

const isSuccessor = (one: Ranked, other: Ranked, kind: Kind): boolean => {
  const [ours, theirs] = [one[kind], other[kind]]
  if (theirs.mode !== 'primary' || theirs.clusterId === '' || theirs.clusterId !== ours.clusterId) return false
  if (ours.mode === 'primary') return isOlder(one, other) || !isOlder(other, one)
  return isDetached(ours) && ours.merkleRoot !== theirs.merkleRoot
}

/**
 * Whether a primary rejects writes because of a newer primary, or has registered the other primary as its secondary. A
 * DR failover also moves the performance primary, so a registration of either kind decides for both.
 */
const isOlder = (one: Ranked, other: Ranked): boolean =>
  one.health === 503 || KINDS.some((kind) => one[kind].knownSecondaries.includes(idOf(kind, other.name)))
