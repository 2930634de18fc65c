import type { Bug } from '../planted.js'

/** The bugs that the simulation is known to miss, each with the reason. */
export const MISSED_BUGS: readonly (Bug & { readonly why: string })[] = [
  {
    name: 'an entry for different data is applied',
    file: 'storage/store/store.ts',
    from: 'if (place?.tree !== operation.category || !place.delta.equals(operation.delta)) return false',
    to: 'if (place?.tree !== operation.category) return false',
    why: 'A second line of defense: without another bug, clusters never differ at a position that both know.',
  },
  {
    name: 'data received while a filter was removed is not noticed',
    file: 'replication/runtime/replication.ts',
    from: 'for (const { key } of commit.mutations) if (filter.isFiltered(key)) return true',
    to: 'void commit',
    why: 'Needs a filter that changes at the moment when a connection breaks. A unit test covers it.',
  },
  {
    name: 'a secondary does not report that its filter is not in effect',
    file: 'replication/roles/secondary-role.ts',
    from: "return isFilterInEffect() ? (filters.compiled(id)?.fingerprint ?? '') : ''",
    to: "return isFilterInEffect === undefined ? '' : (filters.compiled(id)?.fingerprint ?? '')",
    why: 'Needs a filter that changes at the moment when the copy is asked for it. Does not occur in 200 seeds.',
  },
  {
    name: 'frames received before an offer are applied after it',
    file: 'replication/secondary/stream-reader.ts',
    from: '        slices = []\n',
    to: '',
    why: 'The primary sends no frames between an offer and its response. The remaining frames are dropped with the message.',
  },
  {
    name: 'a frame with a wrong previous hash is applied',
    file: 'replication/secondary/applier.ts',
    from: 'if (!frame.previousHash.equals(hash))',
    to: 'if (!frame.previousHash.equals(hash) && frame.firstIndex < 0)',
    why: 'The simulated network keeps the order of messages and loses none in between.',
  },
  {
    name: 'a follower returns to an older primary',
    file: 'replication/roles/secondary-role.ts',
    from: "      : 'the primary belongs to an older epoch of this set'",
    to: '      : undefined',
    needs: ({ topology, failovers }) => topology === 'both' && failovers.includes('lagging'),
    why: 'A second line of defense: a follower announces the newer epoch to the older primary, which rejects it.',
  },
  {
    name: 'a store continues from a position of another epoch',
    file: 'replication/roles/settle-store.ts',
    from: 'if (isForeign || (!record.hasFollowed && position))',
    to: 'if (!record.hasFollowed && place && isForeign && place.index < 0)',
    why: 'A second line of defense: the hash of the position is not in the log of the new primary, so all data is compared.',
  },
  {
    name: 'filtered data stays on the copy of a secondary',
    file: 'replication/runtime/view.ts',
    from: "const original = running.dr.follower?.primary?.clusterId ?? ''",
    to: "if (running.dr.follower) return undefined\n  const original = ''",
    why: 'A second line of defense: the original cuts its log, so the copy compares all data and marks its deletions.',
  },
]
