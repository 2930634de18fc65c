import { largestOf, smallestOf } from '../../../base/extremes.js'
import type { DrillContext } from '../context/drill-context.js'
import type { ClientKind, ClientRto, RpoResult, RtoResult } from '../context/result.js'
import type { Attempt } from './client.js'
import type { Write } from './load.js'

/**
 * A period without service, computed from client results only. It starts when a client sends its first failing request,
 * and ends with the response to its next accepted request.
 */
interface Interruption {
  readonly fromMs: number
  /** Infinite if it never ended. */
  readonly toMs: number
  /** The cluster that accepted the last request before the interruption. `after`: the first request after it. */
  readonly before: string | undefined
  readonly after: string | undefined
}

/** Finds the interruptions of one client. `attempts` are in the order of completion. */
const findInterruptions = (attempts: readonly Attempt[]): Interruption[] => {
  const found: Interruption[] = []
  let before: string | undefined
  let fromMs: number | undefined
  for (const { isAccepted, sentMs, endedMs, cluster } of attempts) {
    if (!isAccepted) {
      fromMs ??= sentMs
      continue
    }
    if (fromMs !== undefined) found.push({ fromMs, toMs: endedMs, before, after: cluster })
    fromMs = undefined
    before = cluster
  }
  return fromMs === undefined ? found : [...found, { fromMs, toMs: Number.POSITIVE_INFINITY, before, after: undefined }]
}

/** Groups overlapping interruptions, which are sorted by their start. */
const groupInterruptions = (interruptions: readonly Interruption[]): (readonly Interruption[])[] => {
  const groups: Interruption[][] = []
  let untilMs = Number.NEGATIVE_INFINITY
  for (const one of interruptions) {
    if (one.fromMs > untilMs) groups.push([])
    groups.at(-1)?.push(one)
    untilMs = Math.max(untilMs, one.toMs)
  }
  return groups
}

/**
 * Merges the interruptions of a group. If clients move to another cluster, as in a failover, the result ends with the
 * first write that this cluster accepts. Otherwise, it ends when the last client is served again.
 */
const mergeGroup = (group: readonly Interruption[]): Interruption[] => {
  const sorted = [...group].sort((one, other) => one.toMs - other.toMs)
  const moved = sorted.find(({ before, after, toMs }) => before !== after && Number.isFinite(toMs))
  const last = moved ?? sorted.at(-1)
  return last ? [{ ...last, fromMs: smallestOf(group.map(({ fromMs }) => fromMs)) }] : []
}

const findLongest = (attempts: readonly Attempt[]): Interruption | undefined => {
  const interruptions = [...new Set(attempts.map(({ client }) => client))]
    .flatMap((name) => findInterruptions(attempts.filter(({ client }) => client === name)))
    .sort((one, other) => one.fromMs - other.fromMs)
  const merged = groupInterruptions(interruptions).flatMap(mergeGroup)
  return merged.sort((one, other) => other.toMs - other.fromMs - (one.toMs - one.fromMs))[0]
}

/** Returns the longest interruption of the lab: in total, and per kind of client. */
export const measureRto = (attempts: readonly Attempt[]): RtoResult => {
  const writes = findLongest(attempts.filter(({ action }) => action === 'write'))
  const ofKind = (kind: ClientKind): ClientRto | null => {
    const own = attempts.filter((attempt) => attempt.kind === kind)
    return own.length === 0 ? null : toRto(findLongest(own))
  }
  return {
    ...toRto(writes),
    acceptedBy: writes?.after ?? null,
    byClient: { 'old-token': ofKind('old-token'), 'new-login': ofKind('new-login'), reader: ofKind('reader') },
  }
}

const toRto = (span: Interruption | undefined): ClientRto => {
  if (!span) return { ms: 0, fromMs: null, toMs: null }
  const { fromMs, toMs } = span
  return Number.isFinite(toMs) ? { ms: toMs - fromMs, fromMs, toMs } : { ms: null, fromMs, toMs: null }
}

export interface ReadBack {
  /** The cluster from which the writes were read. */
  readonly cluster: string
  readonly missing: readonly Write[]
  /** Writes that could not be read, so it is unknown whether they are missing. `reason`: why the last read failed. */
  readonly unread: readonly Write[]
  readonly reason: string | undefined
}

/** Makes a standby forward a read to the active node, because the standby may lag. */
const FROM_ACTIVE_NODE = { 'X-Vault-Forward': 'active-node' }
const CONCURRENT_READS = 16
const ATTEMPTS_MAX = 3

/** Reads these writes from a cluster. A write with a different value counts as missing. */
export const readBack = (context: DrillContext, cluster: string, writes: readonly Write[]): Promise<ReadBack> =>
  context.asRoot(cluster, async (client) => {
    const missing: Write[] = []
    const unread: Write[] = []
    let reason: string | undefined
    const look = async (write: Write): Promise<void> => {
      for (let left = ATTEMPTS_MAX; left > 0; left--) {
        const answer = await client.send('GET', write.key, { headers: FROM_ACTIVE_NODE }).catch((error: Error) => error)
        const status = answer instanceof Error ? answer.message : answer.status
        if (status === 200 || status === 404) {
          const { key } = ('json' in answer && answer.json?.data ? answer.json.data : {}) as { key?: unknown }
          if (status === 404 || key !== write.key) missing.push(write)
          return
        }
        if (left === 1) reason = `${status}`
      }
      unread.push(write)
    }
    const left = writes.values()
    const worker = async () => {
      for (let next = left.next(); !next.done; next = left.next()) await look(next.value)
    }
    await Promise.all(Array.from({ length: CONCURRENT_READS }, worker))
    return { cluster, missing, unread, reason }
  })

/** Returns the lost writes. `found`: the read of every acknowledged write; undefined if no cluster responded. */
export const toRpo = (writes: readonly Write[], found: ReadBack | undefined): RpoResult => {
  const { missing, unread } = found ?? { missing: [], unread: writes }
  const isMeasured = found !== undefined && unread.length === 0
  const times = missing.map(({ endedMs }) => endedMs)
  const countOf = (some: readonly Write[], kind: ClientKind) => some.filter((write) => write.kind === kind).length
  const kinds = found ? [...new Set(writes.map(({ kind }) => kind))] : []
  const byClient = kinds.map((kind) => {
    const lost = countOf(unread, kind) === 0 ? countOf(missing, kind) : null
    return [kind, { acknowledged: countOf(writes, kind), lost }]
  })
  return {
    writesLost: isMeasured ? missing.length : null,
    acknowledged: writes.length,
    readBack: writes.length - unread.length,
    lost: missing
      .map(({ key, endedMs, cluster, kind }) => ({ key, ackedMs: endedMs, cluster, client: kind }))
      .sort((one, other) => one.ackedMs - other.ackedMs),
    seconds: !isMeasured ? null : times.length === 0 ? 0 : (largestOf(times) - smallestOf(times)) / 1000,
    byClient: Object.fromEntries(byClient) as RpoResult['byClient'],
  }
}
