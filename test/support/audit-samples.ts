import { ManualClock } from './manual-clock.js'
import { silentLog } from '../../src/base/log.js'
import { createSeededRandom } from '../../src/base/random.js'
import { AuditBroker } from '../../src/core/audit/audit.js'
import type { AuditResponseEntry } from '../../src/core/audit/audit-entry.js'
import type { Response } from '../../src/logical/request.js'
import { ROOT_NAMESPACE } from '../../src/logical/request.js'
import { Meter } from '../../src/core/status/metrics.js'
import { makeRequest } from './backend-harness.js'
import { MemoryStorage } from './memory-storage.js'

/**
 * Returns a broker. Devices of type `file` with the path `stdout` write to `lines`; they fail while `output.isBroken`.
 * `enable` skips the test line of a new device.
 */
export const createAudit = (storage = new MemoryStorage(), clock = new ManualClock()) => {
  const lines: string[] = []
  const output = { isBroken: false }
  const audit = new AuditBroker({
    storage,
    clock,
    random: createSeededRandom('audit'),
    log: silentLog,
    meter: new Meter(),
    standardOutput: async (text) => {
      if (output.isBroken) throw new Error('broken pipe')
      lines.push(text)
    },
  })
  storage.onChange((key) => audit.invalidate(key))
  const enable = (name: string, options: Record<string, string>, isLocal = false) =>
    audit.enable({ name, type: 'file', description: '', isLocal, options: { skip_test: 'true', ...options } })
  return { audit, storage, clock, lines, output, enable }
}

/** Returns the audit facts of an accepted request with a service token. */
export const sampleEntry = (more: Partial<AuditResponseEntry> = {}, response?: Response): AuditResponseEntry => ({
  request: makeRequest(
    'update',
    'kv/a',
    { word: 'swordfish', count: 7, flag: true, none: null, deep: { list: ['one', 2] } },
    { clientToken: 'hvs.presented', headers: { 'x-team': 'blue', 'x-more': ['1', '2'] } },
  ),
  mount: {
    entry: {
      kind: 'secret',
      type: 'kv',
      accessor: 'kv_1',
      config: { defaultLeaseTtlSeconds: 0, maxLeaseTtlSeconds: 0, forceNoCache: false },
    },
    view: { path: 'kv/' },
  },
  token: {
    id: 'hvs.internal',
    accessor: 'accessor-1',
    policies: ['default', 'dev'],
    displayName: 'approle',
    entityId: 'entity-1',
    type: 'service',
    isRoot: false,
    namespace: ROOT_NAMESPACE,
    meta: { role_name: 'dev' },
    numUses: 0,
    createdAtMs: 1_700_000_000_000,
    ttlSeconds: 3600,
  },
  verdict: { isAllowed: true, grantingPolicies: [{ name: 'dev', namespaceId: 'root', type: 'acl' }] },
  response,
  ...more,
})
