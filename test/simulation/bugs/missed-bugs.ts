import type { Bug } from '../planted.js'

/** The bugs that the simulation is known to miss, each with the reason. */
export const MISSED_BUGS: readonly (Bug & { readonly why: string })[] = [
  {
    name: 'what follows on other data is applied',
    file: 'storage/store/store.ts',
    from: 'if (place?.tree !== operation.category || !place.delta.equals(operation.delta)) return false',
    to: 'if (place?.tree !== operation.category) return false',
    why: 'It is a second line of defence: without another bug no two clusters differ at a place that both know.',
  },
  {
    name: 'nobody notices what came while a filter was lifted',
    file: 'replication/runtime/replication.ts',
    from: 'for (const { key } of commit.mutations) if (filter.isFiltered(key)) return true',
    to: 'void commit',
    why: 'Needs a filter that changes in the moment in which a connection breaks; a unit test has it.',
  },
  {
    name: 'a secondary does not say that its filter is not in effect',
    file: 'replication/roles/secondary-role.ts',
    from: "return isFilterInEffect() ? (filters.compiled(id)?.fingerprint ?? '') : ''",
    to: "return isFilterInEffect === undefined ? '' : (filters.compiled(id)?.fingerprint ?? '')",
    why: 'A filter has to change in the moment in which the copy is asked which one is in effect; not among 200 seeds.',
  },
  {
    name: 'frames that came before an offer are applied after it',
    file: 'replication/secondary/stream-reader.ts',
    from: '        slices = []\n',
    to: '',
    why: 'The primary sends no frames between an offer and the answer to it. What is left of the frames is dropped with the message.',
  },
  {
    name: 'a frame that does not chain is applied',
    file: 'replication/secondary/applier.ts',
    from: 'if (!frame.previousHash.equals(hash))',
    to: 'if (!frame.previousHash.equals(hash) && frame.firstIndex < 0)',
    why: 'The network of the simulation keeps the order, and loses nothing in the middle.',
  },
  {
    name: 'a follower goes back to an older primary',
    file: 'replication/roles/secondary-role.ts',
    from: "      : 'the primary belongs to an older epoch of this set'",
    to: '      : undefined',
    needs: ({ topology, failovers }) => topology === 'both' && failovers.includes('lagging'),
    why: 'It is a second line of defence: a follower tells the older primary of the newer epoch first, and that primary refuses it.',
  },
  {
    name: 'a store goes on from a place of another epoch',
    file: 'replication/roles/settle-store.ts',
    from: 'if (isForeign || (!record.hasFollowed && place))',
    to: 'if (!record.hasFollowed && place && isForeign && place.index < 0)',
    why: 'It is a second line of defence: the hash of that place is not in the log of the new primary, which has all data compared.',
  },
  {
    name: 'what is filtered stays on the copy of a secondary',
    file: 'replication/roles/own-filter.ts',
    from: "const original = running.dr.follower?.primary?.clusterId ?? ''",
    to: "if (running.dr.follower) return undefined\n  const original = ''",
    why: 'It is a second line of defence: the original cuts its log, so the copy compares all data, and marks what it deletes by that.',
  },
]
