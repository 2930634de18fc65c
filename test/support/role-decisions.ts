import { decideDemote, decideDisablePrimary, decideEnablePrimary } from '../../src/replication/roles/decide-primary.js'
import {
  decideDisableSecondary,
  decideEnableSecondary,
  decideFinishBootstrap,
  decidePromote,
  decideUpdatePrimary,
} from '../../src/replication/roles/decide-secondary.js'
import type { Decision, Event, Facts, SafetyFacts } from '../../src/replication/model/machine.js'
import type { Kind } from '../../src/replication/model/types.js'

/** The facts of a secondary that has applied everything. */
export const SAFE: SafetyFacts = {
  isSyncComplete: true,
  streamState: 'stream-wals',
  isReindexing: false,
  appliedIndex: 5,
  announcedIndex: 5,
  isBehindEpoch: false,
  filter: undefined,
}

/** Returns the decision of the role machine for each event in this state. */
export const decisionsAt = (
  safety: SafetyFacts,
  force = false,
): Readonly<Record<Event, (kind: Kind, facts: Facts) => Decision>> => ({
  'enable-primary': decideEnablePrimary,
  demote: decideDemote,
  'disable-primary': decideDisablePrimary,
  'enable-secondary': decideEnableSecondary,
  'finish-bootstrap': decideFinishBootstrap,
  promote: (kind, facts) => decidePromote(kind, facts, safety, force),
  'disable-secondary': decideDisableSecondary,
  'update-primary': (kind, facts) => decideUpdatePrimary(kind, facts, 'token'),
  'forget-primary': (kind, facts) => decideUpdatePrimary(kind, facts, 'blank'),
  'update-addresses': (kind, facts) => decideUpdatePrimary(kind, facts, 'addresses'),
})
