import { AutoSnapshots } from '../../core/system/auto-snapshots.js'
import { KeyRotation } from '../../core/system/key-rotation.js'
import { KEYS } from '../../storage/keys/key-families.js'
import type { OpenClusterOptions } from '../parts/parts.js'
import type { ReplicationParts } from './replication-parts.js'
import { takeSnapshot } from './snapshots.js'

type Options = OpenClusterOptions & { readonly replication: Pick<ReplicationParts, 'isSharedReadOnly'> }

/** The periodic work of the active node: rotation of the encryption key, and automated snapshots. */
export class Background {
  readonly keyRotation: KeyRotation
  readonly snapshots: AutoSnapshots

  constructor({ runtime, replication, clock, random, log }: Options) {
    const { barrier } = runtime
    const mayRotate = () => !replication.isSharedReadOnly
    this.keyRotation = new KeyRotation({ storage: barrier.view(''), barrier, mayRotate, clock, log })
    this.snapshots = new AutoSnapshots({
      storage: barrier.view(KEYS.autoSnapshots),
      snapshot: () => takeSnapshot(runtime, { random, clock }),
      clock,
      log,
    })
  }

  start(signal: AbortSignal): void {
    this.keyRotation.start(signal)
    void this.snapshots.start(signal)
  }

  async stop(): Promise<void> {
    await this.keyRotation.stop()
    await this.snapshots.stop()
  }
}
