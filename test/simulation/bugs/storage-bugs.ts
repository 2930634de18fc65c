import { resyncsInSteps } from '../plan.js'
import type { Bug } from '../planted.js'

/** Bugs in storage and in the log. */
export const STORAGE_BUGS: readonly Bug[] = [
  {
    name: 'a write is acknowledged before it is durable',
    file: 'storage/engine/memory-engine.ts',
    from: 'this.#disk.apply(operations, isDurable)',
    to: 'this.#disk.apply(operations, false)',
  },
  {
    name: 'the trees miss deletions',
    file: 'storage/commit/committer.ts',
    from: 'trees.apply(staged.changes)',
    to: 'if (staged.commit && [...staged.commit.mutations].some(({ key }) => this.#options.engine.get("d" + key) !== undefined)) trees.apply(staged.changes)',
  },
  {
    name: 'a secondary omits entries',
    file: 'replication/secondary/applier.ts',
    from: 'const isApplied = await this.#store.applyEntries(entries, position)',
    to: 'const isApplied = await this.#store.applyEntries(entries.slice(0, 1), position)',
  },
  {
    name: 'a resync keeps keys that the primary has deleted',
    file: 'storage/store/store.ts',
    from: 'for (const { key, value } of mutations) writeSet.add(key, value)',
    to: 'for (const { key, value } of mutations) if (value) writeSet.add(key, value)',
  },
  {
    name: 'a comparison sends filtered data',
    file: 'replication/primary/sync-sessions.ts',
    from: 'if (filter && !filter.shows(key))',
    to: 'if (filter && !filter.shows(key) && key === "")',
  },
  {
    name: 'the stream sends filtered data',
    file: 'replication/primary/shipper.ts',
    from: 'sliceOf(frame, { kind, filter })',
    to: 'sliceOf(frame, { kind, filter: undefined })',
  },
  {
    name: 'changes of a resync are not announced',
    file: 'storage/commit/committer.ts',
    from: 'this.changes.announce(commit)',
    to: "if (commit.origin !== 'resynced') this.changes.announce(commit)",
  },
  {
    name: 'changes of the stream are not announced',
    file: 'storage/commit/committer.ts',
    from: 'this.changes.announce(commit)',
    to: "if (commit.origin !== 'applied') this.changes.announce(commit)",
  },
  {
    name: 'a revoked secondary continues to stream',
    file: 'replication/paths/operate-primary.ts',
    from: 'running[kind].primary?.revoke(id, row.commonName)',
    to: '',
  },
  {
    name: 'log entries have a wrong previous hash',
    file: 'storage/commit/stage.ts',
    from: 'previousHash: state.last.hash',
    to: 'previousHash: state.base.hash',
  },
  {
    name: 'a secondary decides the effect of a KV v2 write',
    file: 'secrets/kv/backend.ts',
    from: 'storage: decidedByPrimary(given)',
    to: 'storage: given.storage',
  },
  {
    name: 'a use of a token is counted after its acceptance',
    file: 'core/tokens/tokens.ts',
    from: 'if (!record || record.numUses < 0) return',
    to: 'if (!record) return',
  },
  {
    name: 'a secondary stores its position without the entries before it',
    file: 'storage/commit/stage.ts',
    from: 'for (const change of changes) putChange(batch, change)\n  for (const one of filtered) putFiltered(batch, one)\n  if (frame',
    to: "for (const change of changes) if (units[0]?.joins === 'own' || change.value) putChange(batch, change)\n  for (const one of filtered) putFiltered(batch, one)\n  if (frame",
  },
  {
    name: 'a key deleted during a generation move reappears',
    file: 'storage/generations/live-copy.ts',
    from: 'else if (this.#goesAlong(key)) this.#batch.delete(key)',
    to: '',
  },
  {
    name: 'a key written during a generation move is lost',
    file: 'storage/generations/live-copy.ts',
    from: 'async finish(): Promise<void> {\n    await this.#copyWritten()',
    to: 'async finish(): Promise<void> {\n    this.#options.to.takeWritten()',
  },
  {
    name: 'a start misses unwritten tree changes',
    file: 'storage/commit/load.ts',
    from: 'if (frame.lastIndex > checkpoint) trees.replay(frame)',
    to: 'if (frame.lastIndex > checkpoint + 1) trees.replay(frame)',
  },
  {
    name: 'reads stay pinned after the end of a resync',
    file: 'storage/sync/pinned-reads.ts',
    from: '      staged.after?.()\n      this.release()',
    to: '      staged.after?.()',
  },
  {
    name: 'only the last batch of a resync is announced',
    file: 'storage/sync/pinned-reads.ts',
    from: 'const mutations = chain(mutationsOf(keys), commit.mutations)',
    to: 'const mutations = commit.mutations',
    needs: resyncsInSteps,
  },
  {
    name: 'a value that cannot be decrypted counts as missing',
    file: 'storage/barrier/barrier.ts',
    from: '    return stored === undefined ? undefined : this.#open(key, stored)\n',
    to: `    if (stored === undefined) return undefined
    try {
      return this.#open(key, stored)
    } catch {
      return undefined
    }
`,
    needs: ({ hasBitFlips }) => hasBitFlips,
  },
  {
    name: 'the log in memory has no limit',
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
    name: 'a fence prevents no writes',
    file: 'storage/store/store.ts',
    from: 'this.#fenced = categories',
    to: 'this.#fenced = new Set(categories.size < 0 ? categories : [])',
    needs: ({ topology, hasCalmFailover }) => topology !== 'dr' && hasCalmFailover,
  },
  {
    name: 'reads are not pinned during a resync',
    file: 'storage/sync/pinned-reads.ts',
    from: 'this.#isWanted = true',
    to: 'this.#isWanted = false',
    needs: ({ hasResyncFaults }) => hasResyncFaults,
  },
  {
    name: 'an incomplete resync counts as complete',
    file: 'storage/commit/stage.ts',
    from: '    remote: undefined,\n    isResyncing: true,',
    to: '    isResyncing: false,',
    needs: ({ hasResyncFaults }) => hasResyncFaults,
  },
  {
    name: 'a purge does not wait for the end of a resync',
    file: 'storage/generations/generation-move.ts',
    from: 'if (store.isResyncing) return undefined',
    to: '',
    needs: ({ hasResyncFaults }) => hasResyncFaults,
  },
  {
    name: 'the keys of a failed batch are not announced',
    file: 'storage/commit/committer.ts',
    from: 'if (mutations.length > 0) {\n',
    to: 'if (mutations.length < 0) {\n',
    needs: ({ hasResyncFaults }) => hasResyncFaults,
  },
  {
    name: 'any position of the log counts as known',
    file: 'storage/log/wal.ts',
    from: 'return this.hashAt(index)?.equals(hash) ?? false',
    to: 'return this.hashAt(index) !== undefined || hash.length === 0',
    needs: ({ hasOvertakenWrite }) => hasOvertakenWrite,
  },
]
