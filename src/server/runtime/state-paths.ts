import { GenerationAttempt, type GenerationSlot } from '../../core/seal/generate-root.js'
import { Rekey } from '../../core/seal/rekey.js'
import { SealHealth } from '../../core/seal/seal-health.js'
import type { SealManager } from '../../core/seal/seal-manager.js'
import type { SealStorage } from '../../core/seal/seal-records.js'
import { generateRootPaths, rekeyPaths } from '../../core/system/key-paths.js'
import { type Initializer, initPaths } from '../../core/system/init-paths.js'
import { raftJoinPath } from '../../core/system/raft-join-paths.js'
import { sealPaths } from '../../core/system/seal-paths.js'
import { statusPaths } from '../../core/system/status-paths.js'
import type { PathSpec } from '../../logical/backend.js'
import type { OpenCluster } from '../wiring/open-cluster.js'
import type { NodeMembership, RuntimeChanges, RuntimeSurroundings } from '../parts/parts.js'

interface StatePathsOptions extends Pick<RuntimeSurroundings, 'clock' | 'random' | 'shell' | 'membership'> {
  readonly seal: SealManager
  readonly sealStorage: SealStorage
  readonly generationSlot: GenerationSlot
  readonly openCluster: () => OpenCluster
}

export const createStatePaths = (options: StatePathsOptions): PathSpec[] => {
  const { seal, sealStorage, generationSlot: slot, shell, membership, openCluster, clock, random } = options
  const { status } = shell
  const makeToken = async () => (await openCluster().services.tokens.createRoot()).id
  const attempt = new GenerationAttempt({ strategy: 'root', slot, seal, random, makeToken })
  const rekey = new Rekey({ seal, random, isShareOwner: () => !openCluster().replication.isSharedReadOnly })
  return [
    ...initPaths(membership ? leadingInitializer(seal, membership) : seal),
    ...sealPaths({
      seal,
      status,
      health: new SealHealth(seal.keys, clock),
      stepDown: membership && (() => membership.stepDown()),
    }),
    ...statusPaths({ seal, status, clock }),
    ...generateRootPaths(attempt),
    raftJoinPath(status.storageType, shell.peers),
    ...rekeyPaths({ rekey, storage: sealStorage, keys: seal.keys }),
  ]
}

/** Returns an initializer of a multi-node cluster. This node is the leader during the initialization. */
const leadingInitializer = (seal: SealManager, membership: NodeMembership): Initializer => ({
  keys: seal.keys,
  get isInitialized() {
    return seal.isInitialized
  },
  initialize: (config, deliver) => membership.whileLeading(() => seal.initialize(config, deliver)),
})

/** Seals the server after the runtime `sealed` was sealed. Also seals the runtime that has replaced it, if any. */
export const sealReplacement = async (
  sealed: NonNullable<RuntimeChanges['runtime']>,
  { membership, changes }: Pick<RuntimeSurroundings, 'membership' | 'changes'>,
): Promise<void> => {
  await membership?.sealed()
  if (changes.runtime === sealed) return
  // The change that opens the new runtime may have read the root key before the old runtime was sealed.
  await changes.settled()
  await changes.runtime?.seal.seal()
}
