import type { Facilities } from '../../base/facilities.js'
import { Backoff, STORAGE_BACKOFF } from '../../base/backoff.js'
import type { OpenCluster } from '../wiring/open-cluster.js'

interface Copy {
  readonly replication: { readonly view: Pick<OpenCluster['replication']['view'], 'isReadable'> }
  close(): Promise<void>
}

interface StandbyCopyOptions<C extends Copy> extends Pick<Facilities, 'clock' | 'random' | 'log'> {
  readonly open: () => Promise<C>
}

/** The open cluster of a performance standby, over the store that follows the log. */
export class StandbyCopy<C extends Copy = OpenCluster> {
  readonly #options: StandbyCopyOptions<C>
  #cluster: C | undefined
  #stop = new AbortController()
  /** Attempts after the first one. Never rejects. */
  #opening: Promise<void> = Promise.resolve()
  /** Settles when discarded copies are closed. Never rejects. */
  #closing: Promise<unknown> = Promise.resolve()

  constructor(options: StandbyCopyOptions<C>) {
    this.#options = options
  }

  /** Undefined if it is not open, or if the cluster's role allows no reads. */
  get readable(): C | undefined {
    return this.#cluster?.replication.view.isReadable ? this.#cluster : undefined
  }

  /** Resolves after the first attempt. Until one succeeds, the standby forwards all requests. */
  async open(): Promise<void> {
    this.#stop = new AbortController()
    const { signal } = this.#stop
    if (!(await this.#try(signal))) this.#opening = this.#tryAgain(signal)
  }

  /**
   * Discards the copy: its responses are no longer used. Closes its open resources, such as audit files, in the background.
   */
  giveUp(): void {
    this.#stop.abort(new Error('the copy is given up'))
    const cluster = this.#cluster
    this.#cluster = undefined
    if (cluster) this.#closing = Promise.all([this.#closing, this.#end(cluster)])
  }

  /** Discards the copy, and resolves when all its resources are closed. */
  async close(): Promise<void> {
    this.giveUp()
    await this.#opening
    await this.#closing
  }

  async #tryAgain(signal: AbortSignal): Promise<void> {
    const { clock, random, log } = this.#options
    const backoff = new Backoff(STORAGE_BACKOFF, random)
    do {
      await clock.sleep(backoff.next(), signal).catch(() => undefined)
      if (signal.aborted) return
    } while (!(await this.#try(signal)))
    if (!signal.aborted) log.info('this performance standby answers reads again')
  }

  /** Returns false if the caller must retry. */
  async #try(signal: AbortSignal): Promise<boolean> {
    try {
      const cluster = await this.#options.open()
      if (signal.aborted) await this.#end(cluster)
      else this.#cluster = cluster
      return true
    } catch (error) {
      const text = 'this performance standby cannot answer reads; retrying'
      if (!signal.aborted) this.#options.log.error(text, { error })
      return signal.aborted
    }
  }

  async #end(cluster: C): Promise<void> {
    await cluster.close().catch((error: unknown) => {
      this.#options.log.error('the standby copy did not close cleanly', { error })
    })
  }
}
