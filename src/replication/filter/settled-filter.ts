import type { ReplicationHost } from '../host.js'

/**
 * The filter that the data of a performance secondary was last compared under, by its digest. The one that is known may
 * run ahead of it: its record arrives before what it means, and a new registration has another one. Until the two agree,
 * what is here is not what it should be. Never leaves the cluster.
 */
const SETTLED_KEY = 'core/replication/settled-filter'

type Host = Pick<ReplicationHost, 'storage'>

/** `digest`: of the filter that is known now; empty for none. */
export const isFilterSettled = ({ storage }: Host, digest: string): boolean =>
  (storage.get(SETTLED_KEY)?.toString() ?? '') === digest

/** A comparison under the filter is complete. */
export const keepSettledFilter = async (host: Host, digest: string): Promise<void> => {
  if (isFilterSettled(host, digest)) return
  await host.storage.write((tx) => tx.put(SETTLED_KEY, Buffer.from(digest)))
}
