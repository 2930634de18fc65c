import { parseJsonObject } from '../../base/json.js'
import { textOfJson } from '../../base/json-print.js'
import type { ApiClient } from '../../client/api-client.js'
import { type ClusterAccess, withAnonymousClient } from '../model/cluster.js'
import { lastLogLines } from '../processes/child-process.js'
import { askInfo, type LastPosition } from '../requests/expected-loss.js'
import { askStatus } from '../requests/replication.js'

const TIMEOUT_MS = 1000

/**
 * Returns the position of a DR primary before a command takes it down. Undefined for other roles, or without a
 * response.
 */
export const positionBefore = async (cluster: ClusterAccess): Promise<LastPosition | undefined> => {
  const ask = async (client: ApiClient) => {
    const { mode, clusterId, lastKindWal } = await askStatus(client, 'dr')
    if (mode !== 'primary') return undefined
    return { set: clusterId, epoch: textOfJson((await askInfo(client)).epoch), lastWal: lastKindWal, isFinal: false }
  }
  return withAnonymousClient(cluster, ask, TIMEOUT_MS).catch(() => undefined)
}

/** Returns the position after an orderly stop, from the last line of the log. Without this line, returns `before`. */
export const positionAfterStop = (before: LastPosition, logFile: string): LastPosition => {
  const last = parseJsonObject(Buffer.from(lastLogLines(logFile).split('\n').at(-1) ?? ''))
  return last?.message === 'storage closed' ? { ...before, lastWal: Number(last.last_dr_wal), isFinal: true } : before
}
