import type { Bug } from '../planted.js'

/** Bugs that the simulation is known to miss, each with its reason. */
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
    why: 'They do not chain with the place of the offer, which is noticed: all that it costs is one more comparison.',
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
    why: 'Needs an old primary that is up, reached, and not told yet; not among 200 seeds with a forced failover.',
  },
  {
    name: 'a store goes on from a place of another epoch',
    file: 'replication/roles/settle-store.ts',
    from: 'if (isForeign || (!record.hasFollowed && place))',
    to: 'if (!record.hasFollowed && place && isForeign && place.index < 0)',
    why: 'Needs two promotions beside each other, and a return to the first of them; there is one copy here.',
  },
  {
    name: 'nobody tells the former primary',
    file: 'replication/roles/former-primary.ts',
    from: 'if (overtaker) fences.meet',
    to: 'if (overtaker && !isHeard) fences.meet',
    why: 'It is what two clusters learn of one another that were promoted beside each other; there is one copy here.',
  },
  {
    name: 'what is filtered stays on the copy of a secondary',
    file: 'replication/roles/own-filter.ts',
    from: "const original = running.dr.follower?.primary?.clusterId ?? ''",
    to: "if (running.dr.follower) return undefined\n  const original = ''",
    why: 'A disk in memory forgets what is deleted, and whether the copy has moved what is left to a new generation is not judged.',
  },
  {
    name: 'a full disk ends who forgets the former primary',
    file: 'replication/roles/former-primary.ts',
    from: '      (error: unknown) => {\n',
    to: "      (error: unknown) => {\n        if (kind === 'dr') throw error\n",
    why: 'The disk has to be full when a DR primary forgets the former one; 100 seeds did not bring that about.',
  },
]
