import { resyncsInSteps } from '../plan.js'
import type { Bug } from '../planted.js'

/** Bugs in storage and in the log. */
export const STORAGE_BUGS: readonly Bug[] = [
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
    to: 'if (staged.commit && [...staged.commit.mutations].some(({ key }) => this.#options.engine.get("d" + key) !== undefined)) trees.apply(staged.changes)',
  },
  {
    name: 'a secondary leaves out entries',
    file: 'replication/secondary/applier.ts',
    from: 'const isApplied = await this.#store.applyEntries(entries, position)',
    to: 'const isApplied = await this.#store.applyEntries(entries.slice(0, 1), position)',
  },
  {
    name: 'a resync leaves what the primary has deleted',
    file: 'storage/store/store.ts',
    from: 'for (const { key, value } of mutations) writeSet.add(key, value)',
    to: 'for (const { key, value } of mutations) if (value) writeSet.add(key, value)',
  },
  {
    name: 'a comparison brings what is filtered',
    file: 'replication/primary/sync-sessions.ts',
    from: 'if (filter && !filter.shows(key))',
    to: 'if (filter && !filter.shows(key) && key === "")',
  },
  {
    name: 'the stream brings what is filtered',
    file: 'replication/primary/shipper.ts',
    from: 'sliceOf(store, frame, { kind, filter })',
    to: 'sliceOf(store, frame, { kind, filter: undefined })',
  },
  {
    name: 'nobody hears of what a resync has changed',
    file: 'storage/commit/committer.ts',
    from: 'this.changes.announce(commit)',
    to: "if (commit.origin !== 'resynced') this.changes.announce(commit)",
  },
  {
    name: 'nobody hears of what the stream has changed',
    file: 'storage/commit/committer.ts',
    from: 'this.changes.announce(commit)',
    to: "if (commit.origin !== 'applied') this.changes.announce(commit)",
  },
  {
    name: 'a revoked secondary goes on to stream',
    file: 'replication/paths/operate-primary.ts',
    from: 'running[kind].primary?.revoke(id, row.commonName)',
    to: '',
  },
  {
    name: 'the log does not say what it follows on',
    file: 'storage/commit/stage.ts',
    from: 'previousHash: state.last.hash',
    to: 'previousHash: state.base.hash',
  },
  {
    name: 'a secondary decides what a write of version 2 does',
    file: 'secrets/kv/backend.ts',
    from: 'storage: decidedByPrimary(given)',
    to: 'storage: given.storage',
  },
  {
    name: 'a use of a token is counted after it is taken',
    file: 'core/tokens/tokens.ts',
    from: 'if (!record || record.numUses < 0) return',
    to: 'if (!record) return',
  },
  {
    name: 'a secondary remembers its place without what leads there',
    file: 'storage/commit/stage.ts',
    from: 'for (const change of changes) putChange(batch, change)\n  for (const one of filtered) putFiltered(batch, one)\n  if (frame',
    to: "for (const change of changes) if (units[0]?.joins === 'own' || change.value) putChange(batch, change)\n  for (const one of filtered) putFiltered(batch, one)\n  if (frame",
  },
  {
    name: 'what is deleted while a generation moves is there again',
    file: 'storage/generations/live-copy.ts',
    from: 'else if (this.#goesAlong(key)) this.#batch.delete(key)',
    to: '',
  },
  {
    name: 'what is written while a generation moves is lost',
    file: 'storage/generations/live-copy.ts',
    from: 'async finish(): Promise<void> {\n    await this.#copyWritten()',
    to: 'async finish(): Promise<void> {\n    this.#options.to.takeWritten()',
  },
  {
    name: 'a start forgets what the trees did not write yet',
    file: 'storage/commit/load.ts',
    from: 'if (frame.lastIndex > checkpoint) trees.replay(frame)',
    to: 'if (frame.lastIndex > checkpoint + 1) trees.replay(frame)',
  },
  {
    name: 'reads stay where they were when a resync has ended',
    file: 'storage/sync/pinned-reads.ts',
    from: '      staged.after?.()\n      this.release()',
    to: '      staged.after?.()',
  },
  {
    name: 'only the last batch of a resync is told of',
    file: 'storage/sync/pinned-reads.ts',
    from: 'const mutations = chain(mutationsOf(keys), commit.mutations)',
    to: 'const mutations = commit.mutations',
    needs: resyncsInSteps,
  },
  {
    name: 'a value that does not open is taken for none',
    file: 'storage/barrier/barrier.ts',
    from: '    return stored === undefined ? undefined : this.#open(key, stored)\n',
    to: `    if (stored === undefined) return undefined
    try {
      return this.#open(key, stored)
    } catch {
      return undefined
    }
`,
    needs: ({ areBitsTurned }) => areBitsTurned,
  },
  {
    name: 'the end of the log that is kept in memory has no bound',
    file: 'storage/log/wal-ring.ts',
    from: 'while (this.#bytes > this.#bytesMax)',
    to: 'while (this.#bytes < 0)',
    needs: ({ settings }) => settings.ship_window_bytes === 100,
  },
  {
    name: 'the log is never trimmed',
    file: 'storage/log/wal.ts',
    from: 'return this.#extent.excess(entries, bytes, TRIM_FRAMES_MAX)',
    to: 'return this.#extent.excess(entries, bytes, 0)',
    needs: ({ settings }) => settings.wal_retention_bytes === 1_000,
  },
  {
    name: 'the log is trimmed past a reader',
    file: 'storage/log/wal.ts',
    from: 'if (!isPinned) return this.#retention',
    to: 'if (!isPinned || isPinned) return this.#retention',
    needs: ({ settings }) => settings.wal_retention_bytes === 1_000,
  },
  {
    name: 'a fence holds nobody back',
    file: 'storage/store/store.ts',
    from: 'this.#fenced = categories',
    to: 'this.#fenced = new Set(categories.size < 0 ? categories : [])',
    needs: ({ topology, isCalmFailover }) => topology !== 'dr' && isCalmFailover,
  },
  {
    name: 'reads go on amid a resync',
    file: 'storage/sync/pinned-reads.ts',
    from: 'this.#isWanted = true',
    to: 'this.#isWanted = false',
    needs: ({ areResyncsDisturbed }) => areResyncsDisturbed,
  },
  {
    name: 'a resync that is not complete counts as one',
    file: 'storage/commit/stage.ts',
    from: '    remote: undefined,\n    isResyncing: true,',
    to: '    isResyncing: false,',
    needs: ({ areResyncsDisturbed }) => areResyncsDisturbed,
  },
  {
    name: 'a purge does not wait for the end of a resync',
    file: 'storage/generations/generation-move.ts',
    from: 'if (store.isResyncing) return undefined',
    to: '',
    needs: ({ areResyncsDisturbed }) => areResyncsDisturbed,
  },
  {
    name: 'nobody hears of what a failed batch has written',
    file: 'storage/commit/committer.ts',
    from: 'if (mutations.length > 0) {\n',
    to: 'if (mutations.length < 0) {\n',
    needs: ({ areResyncsDisturbed }) => areResyncsDisturbed,
  },
  {
    name: 'any place of the log is taken for a known one',
    file: 'storage/log/wal.ts',
    from: 'return this.hashAt(index)?.equals(hash) ?? false',
    to: 'return this.hashAt(index) !== undefined || hash.length === 0',
    needs: ({ isWriteOvertaken }) => isWriteOvertaken,
  },
]
