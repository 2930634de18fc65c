import type { Facilities } from '../../base/facilities.js'
import { rm } from 'node:fs/promises'
import path from 'node:path'
import { limitSignal } from '../../base/linked-signal.js'
import { readNamedFile } from '../../base/named-file.js'
import type { Log } from '../../base/log.js'
import { makeTemporaryDirectory } from '../../base/temporary-directory.js'
import { LogicalError } from '../../logical/errors.js'
import type { SharedLog } from '../../storage/shared-log/shared-log.js'
import type { EngineSource } from '../../storage/engine/engine-source.js'
import { openGenerations } from '../../storage/engine/generations.js'
import type { EtcdStorageConfig } from '../config/storage.js'

type Surroundings = Pick<Facilities, 'clock' | 'random' | 'log'>

/** Timeout of the first request to etcd, as a multiple of the request timeout. */
const FIRST_REQUEST_TIMES = 3
const CHECK_AGAIN_MS = 200

/**
 * Opens the shared log with the data of this server. Rejects with `LogicalError` if etcd does not respond or denies
 * access. Without `ha_enabled`, also rejects if another server uses the log.
 */
export const openSharedLog = async (
  etcd: EtcdStorageConfig,
  leaseMs: number,
  surroundings: Surroundings,
): Promise<SharedLog> => {
  const shared = await openEtcd(etcd, leaseMs, surroundings)
  try {
    if (!etcd.isHaEnabled) await requireAlone(shared, etcd, leaseMs, surroundings)
    return shared
  } catch (error) {
    await shared.close()
    throw error
  }
}

const openEtcd = async (
  { addresses, isTls, prefix, login, tls, requestTimeoutMs }: EtcdStorageConfig,
  leaseMs: number,
  surroundings: Surroundings,
): Promise<SharedLog> => {
  const read = (file: string) => (file === '' ? undefined : readNamedFile(file))
  const files = { ca: read(tls.caFile), cert: read(tls.certFile), key: read(tls.keyFile) }
  const { EtcdSharedLog } = await import('../../storage/shared-log/etcd/etcd-shared-log.js')
  const timeoutMs = requestTimeoutMs * FIRST_REQUEST_TIMES
  using limit = limitSignal(surroundings.clock, timeoutMs, undefined, 'no member responded')
  const options = {
    ...surroundings,
    addresses,
    prefix,
    login,
    requestTimeoutMs,
    leaseMs,
    tls: isTls ? files : undefined,
  }
  try {
    return await EtcdSharedLog.open(options, limit.signal)
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : cause
    throw new LogicalError('unavailable', `the etcd at ${addresses.join(', ')} cannot be used: ${reason}`, { cause })
  }
}

/**
 * Waits until no other server uses the log. A killed server counts as a user until its lease expires. Rejects with
 * `LogicalError` `unavailable` after two lease durations.
 */
const requireAlone = async (
  shared: SharedLog,
  { prefix }: EtcdStorageConfig,
  leaseMs: number,
  { clock, log }: Surroundings,
): Promise<void> => {
  const endMs = clock.monotonic() + 2 * leaseMs
  for (let isLogged = false; shared.leader || (await shared.nodes()).length > 0; isLogged = true) {
    if (clock.monotonic() >= endMs) {
      const advice = 'to make both servers nodes of one cluster, set ha_enabled = true on both'
      throw new LogicalError('unavailable', `another server stores its data below ${prefix} in this etcd; ${advice}`)
    }
    if (!isLogged) log.info('another server uses this etcd; waiting for its lease to expire', { prefix })
    await clock.sleep(CHECK_AGAIN_MS)
  }
}

/**
 * Opens the node's copy of the shared log below `directory`. Without `directory`, uses a temporary directory, which
 * `close` removes. Discards a copy that was not closed cleanly or is damaged, because the log contains all data.
 */
export const openCopy = async (directory: string | undefined, log: Log): Promise<EngineSource> => {
  const copyDirectory = directory === undefined ? makeTemporaryDirectory('copy') : path.join(directory, 'copy')
  const source = await openSound(copyDirectory, log)
  return {
    get generation() {
      return source.generation
    },
    get engine() {
      return source.engine
    },
    isUnchecked: false,
    replace: (prepare) => source.replace(prepare),
    begin: () => source.begin(),
    die: () => source.die(),
    close: async () => {
      await source.close()
      if (directory === undefined) await rm(copyDirectory, { recursive: true, force: true })
    },
  }
}

const openSound = async (copyDirectory: string, log: Log): Promise<EngineSource> => {
  try {
    const source = await openGenerations(copyDirectory, log)
    if (!source.isUnchecked) return source
    await source.close()
  } catch (error) {
    if (!(error instanceof LogicalError) || error.code !== 'internal') throw error
    log.warn('the local copy of the shared storage is damaged: copying all data again', { error })
  }
  await rm(copyDirectory, { recursive: true, force: true })
  return openGenerations(copyDirectory, log)
}
