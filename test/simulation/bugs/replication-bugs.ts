import type { Bug } from '../planted.js'

/** Bugs in the data that a primary sends to its secondaries. */
export const REPLICATION_BUGS: readonly Bug[] = [
  {
    name: 'a new filter compares only the differences',
    file: 'replication/primary/shipper.ts',
    from: "const isFilterNew = filter !== undefined && !('under' in before && before.under === filter.fingerprint)",
    to: 'const isFilterNew = filter !== undefined && before === undefined',
  },
  {
    name: 'filtered data is deleted but not destroyed',
    file: 'replication/filter/purge-states.ts',
    from: "{ is: 'asked' }, { do: 'destroy' })",
    to: "{ is: 'asked' })",
  },
  {
    name: 'a resync keeps keys that the primary does not have',
    file: 'replication/secondary/fetch.ts',
    from: '[...unknown].filter((key) => !isReplaced.has(key))',
    to: '[...unknown].filter((key) => isReplaced.has(key))',
  },
  {
    name: 'a comparison deletes equal leaves',
    file: 'replication/primary/sync-sessions.ts',
    from: "theirs.delete(leaf.toString('latin1'))) missing",
    to: "theirs.has(leaf.toString('latin1'))) missing",
  },
  {
    name: 'an applied frame does not advance the position',
    file: 'replication/secondary/applier.ts',
    from: 'index = slice.last_index',
    to: 'index = Math.max(slice.first_index, slice.last_index - 1)',
  },
  {
    name: 'a comparison omits missing keys',
    file: 'replication/primary/sync-sessions.ts',
    from: "else if (!theirs.delete(leaf.toString('latin1'))) missing.push(key)",
    to: "else if (!theirs.delete(leaf.toString('latin1')) && theirs.size === 0) missing.push(key)",
  },
  {
    name: 'a filter change does not reach a streaming secondary',
    file: 'replication/primary/shipping.ts',
    from: "  streaming: {\n    ...SENDING_ROW,\n    'filter-changed': streamUpTo,",
    to: "  streaming: {\n    ...SENDING_ROW,\n    'filter-changed': stay,",
  },
  {
    name: 'a removed filter compares only the differences',
    file: 'replication/secondary/resync.ts',
    from: '!filteredDigest(filtered).equals(offer.filtered_digest)',
    to: 'filteredDigest(filtered).length === 0',
    needs: ({ topology }) => topology !== 'dr',
  },
  {
    name: 'a primary accepts any position as its own',
    file: 'replication/primary/shipper.ts',
    from: 'const isKnown = position !== null && store.hasPosition(position)',
    to: 'const isKnown = position !== null && position.index <= store.position.index',
    needs: ({ failovers }) => failovers.some((name) => name !== 'planned'),
  },
  {
    name: 'a position found together with entries does not count as found',
    file: 'replication/secondary/stream-reader.ts',
    from: '    this.#options.onApplied(position)\n    await this.#stream.send({ applied_index',
    to:
      '    const place = applier as Applier & { isFound?: boolean }\n' +
      '    place.isFound ??= !isFound || slices.length === 0\n' +
      '    if (place.isFound) this.#options.onApplied(position)\n    await this.#stream.send({ applied_index',
    needs: ({ topology, hasCalmFailover, hasRepromotion }) => topology !== 'dr' && hasCalmFailover && hasRepromotion,
  },
  {
    name: 'a secondary does not send its position after a comparison',
    file: 'replication/secondary/stream-reader.ts',
    from: '      await this.#stream.send({ start: position })\n',
    to: '',
  },
  {
    name: 'a write accepted by an overtaken primary is acknowledged',
    file: 'replication/forwarding/forwarder.ts',
    from: 'if (this.#isLost(index, epochs)) throw',
    to: 'if (index < 0 && this.#isLost(index, epochs)) throw',
    needs: ({ hasOvertakenWrite }) => hasOvertakenWrite,
  },
  {
    name: 'keys behind a filtered hash are not compared',
    file: 'replication/secondary/resync.ts',
    from: ', ...filtered.keys()]',
    to: ']',
    needs: ({ topology }) => topology !== 'dr',
  },
]
