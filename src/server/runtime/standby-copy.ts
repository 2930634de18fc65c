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

/** The open cluster of a performance standby. It reads the store that follows the shared log. */
export class StandbyCopy<C extends Copy = OpenCluster> {
  readonly #options: StandbyCopyOptions<C>
  #cluster: C | undefined
  #stop = new AbortController()
  /** Settles when the retries of `open` have ended. Never rejects. */
  #opening: Promise<void> = Promise.resolve()
  /** Settles when the discarded copies are closed. Never rejects. */
  #closing: Promise<unknown> = Promise.resolve()

  constructor(options: StandbyCopyOptions<C>) {
    this.#options = options
  }

  /** The open copy; undefined if it is not open, or if the cluster's role allows no reads. */
  get readable(): C | undefined {
    return this.#cluster?.replication.view.isReadable ? this.#cluster : undefined
  }

  /**
   * Opens the copy. Resolves after the first attempt. If it fails, retries in the background. Until an attempt
   * succeeds, the standby forwards all requests.
   */
  async open(): Promise<void> {
    this.#stop = new AbortController()
    const { signal } = this.#stop
    if (!(await this.#try(signal))) this.#opening = this.#tryAgain(signal)
  }

  /** Discards the copy. Closes its resources, such as audit files, in the background. */
  discard(): void {
    this.#stop.abort(new Error('the copy was discarded'))
    const cluster = this.#cluster
    this.#cluster = undefined
    if (cluster) this.#closing = Promise.all([this.#closing, this.#end(cluster)])
  }

  /** Discards the copy. Resolves when all its resources are closed. */
  async close(): Promise<void> {
    this.discard()
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
    if (!signal.aborted) log.info('this performance standby serves reads again')
  }

  /** Opens the copy. Returns false if the attempt failed and the caller must retry. */
  async #try(signal: AbortSignal): Promise<boolean> {
    try {
      const cluster = await this.#options.open()
      if (signal.aborted) await this.#end(cluster)
      else this.#cluster = cluster
      return true
    } catch (error) {
      const text = 'cannot open the copy for reads on this performance standby, retrying'
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
