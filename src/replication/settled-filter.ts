import { sha256Hex } from '../crypto/digest.js'
import type { FilterRule } from './filter.js'
import type { ReplicationHost } from './host.js'

/**
 * The rule that the data of a performance secondary was last compared under. The rule that is known may run ahead of it:
 * its record arrives before what it means, and a new registration has another one. Until the two agree, what is here is
 * not what it should be. Only a digest is kept, and it never leaves the cluster.
 */
const SETTLED_KEY = 'core/replication/settled-filter'

type Host = Pick<ReplicationHost, 'storage'>

const digestOf = (rule: FilterRule | undefined): string =>
  rule ? sha256Hex([rule.mode, ...rule.paths].join('\n')) : ''

const readSettled = ({ storage }: Host): string => storage.get(SETTLED_KEY)?.toString() ?? ''

/** `rule`: what is known now; undefined for none. */
export const isFilterSettled = (host: Host, rule: FilterRule | undefined): boolean =>
  readSettled(host) === digestOf(rule)

/** A comparison under the rule is complete. */
export const keepSettledFilter = async (host: Host, rule: FilterRule | undefined): Promise<void> => {
  if (isFilterSettled(host, rule)) return
  await host.storage.write((tx) => tx.put(SETTLED_KEY, Buffer.from(digestOf(rule))))
}
