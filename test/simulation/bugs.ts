import type { Bug } from './planted.js'

/** Bugs that the simulation has to find. */
export const BUGS: readonly Bug[] = [
  {
    name: 'a write is answered before it is durable',
    file: 'storage/engine/memory-engine.ts',
    from: 'this.#disk.apply(operations, isDurable)',
    to: 'this.#disk.apply(operations, false)',
  },
  {
    name: 'the trees are not told of what is deleted',
    file: 'storage/commit/committer.ts',
    from: 'trees.apply(staged.changes)',
    to: 'if (staged.commit?.mutations.some(({ key }) => this.#options.engine.get("d" + key) !== undefined)) trees.apply(staged.changes)',
  },
  {
    name: 'a secondary leaves out entries',
    file: 'replication/secondary/applier.ts',
    from: 'const isApplied = await this.#store.applyEntries(entries, position)',
    to: 'const isApplied = await this.#store.applyEntries(entries.slice(0, 1), position)',
  },
  {
    name: 'a resync leaves what the primary has deleted',
    file: 'storage/store.ts',
    from: 'for (const { key, value } of mutations) writeSet.add(key, value)',
    to: 'for (const { key, value } of mutations) if (value) writeSet.add(key, value)',
  },
]
