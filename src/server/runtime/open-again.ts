import type { Facilities } from '../../base/facilities.js'
import { Backoff, STORAGE_BACKOFF } from '../../base/backoff.js'
import type { Runtime } from './runtime.js'
import { OutcomeUnknown } from '../../storage/shared-log/shared-log.js'
import type { EngineSource } from '../../storage/engine/engine-source.js'
import type { NewData, NodeMembership } from '../parts/parts.js'

interface OpenAgainOptions extends Pick<Facilities, 'clock' | 'random' | 'log'> {
  readonly open: () => Promise<Runtime>
  /** The key that unseals the new runtime. If undefined, the cluster stays sealed. */
  readonly rootKey: Buffer | undefined
  readonly signal: AbortSignal
}

/**
 * Opens the runtime after a change, and unseals it if there is a root key. Logs a failure, such as a full disk, and
 * retries. Until an attempt succeeds, status reads report a restart. Returns undefined if the signal was aborted.
 */
export const openAgain = async (options: OpenAgainOptions): Promise<Runtime | undefined> => {
  const { open, clock, random, log, signal } = options
  const backoff = new Backoff(STORAGE_BACKOFF, random)
  while (!signal.aborted) {
    try {
      const runtime = await open()
      await unseal(runtime, options)
      return runtime
    } catch (error) {
      const pauseMs = backoff.next()
      log.error('cannot open the data of the cluster, retrying', { error, pauseMs })
      await clock.sleep(pauseMs, signal).catch(() => undefined)
    }
  }
  return undefined
}

/** Unseals the runtime. Logs a failure. The runtime then stays sealed. */
const unseal = async ({ seal }: Runtime, { rootKey, log }: OpenAgainOptions): Promise<void> => {
  try {
    if (rootKey) await seal.openWith(rootKey)
  } catch (error) {
    log.error('cannot open the cluster after a replication change; it is sealed', { error })
  }
}

/**
 * Replaces the data of this node and of the other nodes of its cluster. Rejects with OutcomeUnknown if this node has
 * published the new data but cannot use it. The other nodes then use the new data, and this node receives it later.
 */
export const replaceForAll = async (
  source: EngineSource,
  publisher: Pick<NodeMembership, 'publish'> | undefined,
  { prepare }: Pick<NewData, 'prepare'>,
): Promise<void> => {
  let isPublished = false
  try {
    await source.replace(async (fresh) => {
      await prepare(fresh, source.engine)
      await publisher?.publish(fresh)
      isPublished = publisher !== undefined
    })
  } catch (error) {
    throw isPublished ? new OutcomeUnknown(error) : error
  }
}
