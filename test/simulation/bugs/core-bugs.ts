import type { Bug } from '../planted.js'

/** Bugs in tokens, leases, policies and secrets. */
export const CORE_BUGS: readonly Bug[] = [
  {
    name: 'a mount that another cluster has made is not found',
    file: 'server/wiring/open-cluster.ts',
    from: 'const left = table.refresh(key)',
    to: "const left = origin === 'own' ? table.refresh(key) : undefined",
  },
  {
    name: 'version 2 does not look at the version that is replaced',
    file: 'secrets/kv/data.ts',
    from: 'cas !== (metadata?.currentVersion ?? 0)',
    to: 'cas > (metadata?.currentVersion ?? 0)',
  },
  {
    name: 'a SecretID is looked at before its use is counted',
    file: 'auth/approle/secret-ids.ts',
    from: 'if (!record) {\n      await stored\n      return undefined\n    }',
    to: 'if (!record) {\n      await stored\n      return { secretId: seen, stored }\n    }',
  },
  {
    name: 'a SecretID with more than one use loses none',
    file: 'auth/approle/secret-ids.ts',
    from: '{ ...record, numUses: record.numUses - 1, updatedAtMs: this.#nowMs() }',
    to: '{ ...record, updatedAtMs: this.#nowMs() }',
  },
  {
    name: 'the last use of a token leaves one',
    file: 'core/tokens/tokens.ts',
    from: 'const isLast = record.numUses === 1',
    to: 'const isLast = record.numUses === 0',
  },
  {
    name: 'a renewal puts the end off for ever',
    file: 'core/tokens/tokens.ts',
    from: 'renewed(record, ttlSeconds, nowMs)',
    to: 'renewed(record, 3600 + ttlSeconds, nowMs)',
  },
  {
    name: 'nobody forgets a policy that another cluster has changed',
    file: 'server/wiring/open-cluster.ts',
    from: 'policies: (key) => policies.invalidate(key.slice(KEYS.policies.length)),',
    to: 'policies: (_) => undefined,',
  },
  {
    name: 'whoever asks how a server is waits while it restarts',
    file: 'server/runtime/admission.ts',
    from: "if (isRestarting()) return !this.#isServedWhile('restarting', request)",
    to: "if (isRestarting()) return !this.#isServedWhile('restarting', request) || !isWrite(request.operation)",
    needs: ({ isStatusAsked, diskDelayMsMax }) => isStatusAsked && diskDelayMsMax >= 10,
  },
  {
    name: 'a revocation ends what a token created and not the token',
    file: 'core/tokens/token-revocation.ts',
    from: 'return this.#change(storageId, (record) => ({ ...record, expiresAtMs: 0, sweepAtMs: 0 }))',
    to: 'return this.#change(storageId, (record) => ({ ...record, sweepAtMs: 0 }))',
  },
]
