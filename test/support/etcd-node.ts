import { onTestFinished } from 'vitest'
import { systemClock } from '../../src/base/clock.js'
import { silentLog } from '../../src/base/log.js'
import { createSystemRandom } from '../../src/base/random.js'
import { sourceOf } from './engine-source.js'
import { openStore } from './open-store.js'
import { prepareCopy } from '../../src/storage/shared-log/copy.js'
import { EtcdSharedLog, type EtcdSharedLogOptions } from '../../src/storage/shared-log/etcd/etcd-shared-log.js'
import { Follower } from '../../src/storage/shared-log/follower.js'
import { SharedCommitLog } from '../../src/storage/shared-log/shared-commit-log.js'
import type { Leadership } from '../../src/storage/shared-log/shared-log.js'
import { MemoryDisk, MemoryEngine } from '../../src/storage/engine/memory-engine.js'
import type { Store } from '../../src/storage/store/store.js'

const never = new AbortController().signal

/** Opens a shared log in etcd until the end of the test. */
export const openEtcdLog = async (options: Partial<EtcdSharedLogOptions> & Pick<EtcdSharedLogOptions, 'addresses'>) => {
  const common = { clock: systemClock, random: createSystemRandom(), log: silentLog, requestTimeoutMs: 500 }
  const log = await EtcdSharedLog.open({ ...common, prefix: '/nodes/', leaseMs: 4000, ...options }, never)
  onTestFinished(() => log.close())
  return log
}

/** A node with a memory disk and a shared log in etcd, until the end of the test. */
export class EtcdNode {
  readonly disk = new MemoryDisk()
  readonly shared: EtcdSharedLog
  readonly store: Store
  readonly #follower: Follower
  /** True if the node read the image at its start. */
  readonly hasReadImage: boolean

  private constructor(shared: EtcdSharedLog, disk: MemoryDisk, store: Store, parts: [Follower, boolean]) {
    this.shared = shared
    this.disk = disk
    this.store = store
    ;[this.#follower, this.hasReadImage] = parts
  }

  static async start(...[options]: Parameters<typeof openEtcdLog>): Promise<EtcdNode> {
    const shared = await openEtcdLog(options)
    const disk = new MemoryDisk()
    const engine = new MemoryEngine(disk)
    const hasReadImage = await prepareCopy(sourceOf(engine), shared, never)
    const commitLog = new SharedCommitLog(engine)
    const store = await openStore({ engine, commitLog, clock: systemClock })
    onTestFinished(() => store.close())
    const follower = new Follower({ store, commitLog, sharedLog: shared })
    const node = new EtcdNode(shared, disk, store, [follower, hasReadImage])
    node.#follow()
    return node
  }

  get applied(): number {
    return this.#follower.applied.index
  }

  /**
   * Campaigns for the leadership. Resolves when the store accepts writes. Follows the log again after a loss of the
   * leadership.
   */
  async lead(): Promise<Leadership> {
    const leadership = await this.shared.campaign({ nodeId: 'node', apiAddress: '', clusterAddress: '' }, never)
    void leadership.lost.then(() => this.#follow())
    await this.#follower.lead(leadership)
    return leadership
  }

  #follow(): void {
    this.#follower.follow(never).catch(() => undefined)
  }
}
