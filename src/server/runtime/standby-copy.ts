import type { Log } from '../../base/log.js'
import { OpenCluster } from '../wiring/open-cluster.js'
import type { OpenClusterOptions } from '../wiring/open-cluster-options.js'

/** The cluster as a performance standby has it open, over the store that follows. */
export class StandbyCopy {
  readonly #options: { readonly options: () => OpenClusterOptions; readonly log: Log }
  #cluster: OpenCluster | undefined

  constructor(options: { readonly options: () => OpenClusterOptions; readonly log: Log }) {
    this.#options = options
  }

  /** Undefined where it is not open, or the role of the cluster leaves nothing to read. */
  get readable(): OpenCluster | undefined {
    return this.#cluster?.replication.view.isReadable ? this.#cluster : undefined
  }

  /** Without it the node is a standby that hands everything on. */
  async open(): Promise<void> {
    try {
      this.#cluster = await OpenCluster.start(this.#options.options())
    } catch (error) {
      this.#options.log.error('this node cannot answer reads while it is a standby', { error })
    }
  }

  /** From now on nothing that it answers counts. */
  async close(): Promise<void> {
    const cluster = this.#cluster
    this.#cluster = undefined
    await cluster?.close()
  }
}
