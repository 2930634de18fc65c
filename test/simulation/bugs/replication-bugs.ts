import type { Bug } from '../planted.js'

/** Bugs in the data that a primary sends to its secondaries. */
export const REPLICATION_BUGS: readonly Bug[] = [
  {
    name: 'a new filter compares only what differs',
    file: 'replication/primary/shipper.ts',
    from: "const isFilterNew = filter !== undefined && !('under' in before && before.under === filter.fingerprint)",
    to: 'const isFilterNew = filter !== undefined && before === undefined',
  },
  {
    name: 'what is filtered is deleted and not destroyed',
    file: 'replication/filter/purge-states.ts',
    from: "{ is: 'asked' }, { do: 'destroy' })",
    to: "{ is: 'asked' })",
  },
  {
    name: 'a resync leaves keys that the primary does not know',
    file: 'replication/secondary/fetch.ts',
    from: '[...unknown].filter((key) => !isReplaced.has(key))',
    to: '[...unknown].filter((key) => isReplaced.has(key))',
  },
  {
    name: 'the leaves that two clusters share are deleted',
    file: 'replication/primary/sync-sessions.ts',
    from: "theirs.delete(leaf.toString('latin1'))) missing",
    to: "theirs.has(leaf.toString('latin1'))) missing",
  },
  {
    name: 'an applied frame does not move the place',
    file: 'replication/secondary/applier.ts',
    from: 'index = slice.last_index',
    to: 'index = Math.max(slice.first_index, slice.last_index - 1)',
  },
  {
    name: 'a comparison leaves out what is missing',
    file: 'replication/primary/sync-sessions.ts',
    from: "else if (!theirs.delete(leaf.toString('latin1'))) missing.push(key)",
    to: "else if (!theirs.delete(leaf.toString('latin1')) && theirs.size === 0) missing.push(key)",
  },
  {
    name: 'a filter that changes is not heard of by who is streaming',
    file: 'replication/primary/shipping.ts',
    from: "  streaming: {\n    opened: never,\n    'filter-changed': streamUpTo,",
    to: "  streaming: {\n    opened: never,\n    'filter-changed': stay,",
  },
  {
    name: 'a filter that is lifted compares only what differs',
    file: 'replication/secondary/resync.ts',
    from: '!filteredDigest(filtered).equals(offer.filtered_digest)',
    to: 'filteredDigest(filtered).length === 0',
    needs: ({ topology }) => topology !== 'dr',
  },
  {
    name: 'a primary takes any place for one of its own',
    file: 'replication/primary/shipper.ts',
    from: 'const isKnown = position !== null && store.hasPosition(position)',
    to: 'const isKnown = position !== null && position.index <= store.position.index',
    needs: ({ failovers }) => failovers.some((name) => name !== 'planned'),
  },
  {
    name: 'a place that is found together with entries does not count as found',
    file: 'replication/secondary/stream-reader.ts',
    from: '    this.#options.onApplied(position)\n    await this.#stream.send({ applied_index',
    to:
      '    const place = applier as Applier & { isFound?: boolean }\n' +
      '    place.isFound ??= !isFound || slices.length === 0\n' +
      '    if (place.isFound) this.#options.onApplied(position)\n    await this.#stream.send({ applied_index',
    needs: ({ topology, isCalmFailover, isPromotedAgain }) => topology !== 'dr' && isCalmFailover && isPromotedAgain,
  },
  {
    name: 'a secondary does not say where it goes on after a comparison',
    file: 'replication/secondary/stream-reader.ts',
    from: '      await this.#stream.send({ start: position })\n',
    to: '',
  },
  {
    name: 'a write that an overtaken primary took is acknowledged',
    file: 'replication/forwarding/forwarder.ts',
    from: 'if (this.#isGivenUp(index, epochs)) throw',
    to: 'if (index < 0 && this.#isGivenUp(index, epochs)) throw',
    needs: ({ isWriteOvertaken }) => isWriteOvertaken,
  },
  {
    name: 'what outweighs a filtered hash is not compared',
    file: 'replication/secondary/resync.ts',
    from: ', ...filtered.keys()]',
    to: ']',
    needs: ({ topology }) => topology !== 'dr',
  },
]
