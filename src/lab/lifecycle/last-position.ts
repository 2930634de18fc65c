import { parseJsonObject } from '../../base/json.js'
import { type ClusterAccess, withAnonymousClient } from '../model/cluster.js'
import { lastLogLines } from '../processes/child-process.js'
import type { LastPosition } from '../requests/expected-loss.js'
import { askStatus } from '../requests/replication.js'

const ANSWER_MS = 1000

/** Returns the position of a DR primary before a command takes it down. Undefined if it is no primary, or does not respond. */
export const positionBefore = async (cluster: ClusterAccess): Promise<LastPosition | undefined> => {
  const ask = () => withAnonymousClient(cluster, (client) => askStatus(client, 'dr'), ANSWER_MS)
  const { mode, clusterId, lastKindWal } = await ask().catch(() => ({ mode: '-', clusterId: '', lastKindWal: 0 }))
  return mode === 'primary' ? { set: clusterId, lastWal: lastKindWal, isFinal: false } : undefined
}

/**
 * Returns the position after an orderly stop, from the last line of the server's log. Returns the position before it if the log
 * does not end with that line, because the log level is higher or the server had to be killed.
 */
export const positionAfterStop = (before: LastPosition, logFile: string): LastPosition => {
  const last = parseJsonObject(Buffer.from(lastLogLines(logFile).split('\n').at(-1) ?? ''))
  return last?.message === 'storage closed' ? { ...before, lastWal: Number(last.last_dr_wal), isFinal: true } : before
}
