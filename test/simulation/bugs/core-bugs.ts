import type { Bug } from '../planted.js'

/** Bugs in tokens, leases, policies and secrets. */
export const CORE_BUGS: readonly Bug[] = [
  {
    name: 'a mount created by another cluster is not found',
    file: 'server/wiring/open-cluster.ts',
    from: 'const left = table.refresh(key)',
    to: "const left = origin === 'own' ? table.refresh(key) : undefined",
  },
  {
    name: 'KV v2 ignores the version that a write replaces',
    file: 'secrets/kv/data.ts',
    from: 'cas !== (metadata?.currentVersion ?? 0)',
    to: 'cas > (metadata?.currentVersion ?? 0)',
  },
  {
    name: 'a SecretID is accepted before its use is counted',
    file: 'auth/approle/secret-ids.ts',
    from: 'if (!record) {\n      await stored\n      return undefined\n    }',
    to: 'if (!record) {\n      await stored\n      return { secretId: seen, stored }\n    }',
  },
  {
    name: 'a SecretID with several uses loses none',
    file: 'auth/approle/secret-ids.ts',
    from: '{ ...record, numUses: record.numUses - 1, updatedAtMs: this.#nowMs() }',
    to: '{ ...record, updatedAtMs: this.#nowMs() }',
  },
  {
    name: 'the last use of a token remains',
    file: 'core/tokens/tokens.ts',
    from: 'const isLast = record.numUses === 1',
    to: 'const isLast = record.numUses === 0',
  },
  {
    name: 'a renewal extends a token without limit',
    file: 'core/tokens/tokens.ts',
    from: 'renewed(record, ttlSeconds, nowMs)',
    to: 'renewed(record, 3600 + ttlSeconds, nowMs)',
  },
  {
    name: 'a policy changed by another cluster stays cached',
    file: 'server/wiring/open-cluster.ts',
    from: 'policies: (key) => policies.invalidate(key.slice(KEYS.policies.length)),',
    to: 'policies: (_) => undefined,',
  },
  {
    name: 'status reads wait while a server restarts',
    file: 'server/runtime/admission.ts',
    from: "if (isRestarting()) return !this.#isServedWhile('restarting', request)",
    to: "if (isRestarting()) return !this.#isServedWhile('restarting', request) || !isWrite(request.operation)",
    needs: ({ hasStatusReads, diskDelayMsMax }) => hasStatusReads && diskDelayMsMax >= 10,
  },
  {
    name: 'a revocation deletes the children of a token but not the token',
    file: 'core/tokens/token-revocation.ts',
    from: 'return this.#change(storageId, (record) => ({ ...record, expiresAtMs: 0, sweepAtMs: 0 }))',
    to: 'return this.#change(storageId, (record) => ({ ...record, sweepAtMs: 0 }))',
  },
]
