import { hasNodes } from '../plan.js'
import type { Bug } from '../planted.js'

const BUGS: readonly Bug[] = [
  {
    name: 'a lease is trusted for longer than its term',
    file: 'storage/shared-log/own-lease.ts',
    from: 'const TRUSTED_PART = 0.9',
    to: 'const TRUSTED_PART = 3',
  },
  {
    name: 'a write is acknowledged before it is in the shared log',
    file: 'storage/shared-log/shared-commit-log.ts',
    from: 'await leadership.append(entry.index, entry.bytes)',
    to: 'leadership.append(entry.index, entry.bytes).catch(() => undefined)',
  },
  {
    name: 'a former active node does not follow the log',
    file: 'server/nodes/machine.ts',
    from: 'active: [NEVER, NEVER, NEVER, NEVER, STEP_DOWN, REST',
    to: 'active: [NEVER, NEVER, NEVER, NEVER, NEVER, REST',
  },
  {
    name: 'the trees miss the commits of another node',
    file: 'storage/commit/committer.ts',
    from: 'this.#adopt(staged)\n    this.overlay.settle(leaves)',
    to: 'this.#adopt({ ...staged, changes: [] })\n    this.overlay.settle(leaves)',
  },
  {
    name: 'a standby reports an invalid request as permission denied',
    file: 'server/nodes/relay-service.ts',
    from: 'payload: encodeRelayFailure(asLogical(error, log), appliedIndex())',
    to: "payload: encodeRelayFailure(error.code === 'invalid-request' ? new LogicalError('permission-denied', error.message) : asLogical(error, log), appliedIndex())",
  },
]

/** Bugs in clusters with several nodes. */
export const NODE_BUGS: readonly Bug[] = BUGS.map((bug) => ({ ...bug, needs: hasNodes }))
