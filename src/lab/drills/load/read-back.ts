import type { LiveLab } from '../../live/live-lab.js'
import type { ClientKind, RpoResult } from '../context/result.js'
import type { Ledger, Write } from './ledger.js'

interface ReadBack {
  /** The cluster from which the writes were read. */
  readonly cluster: string
  readonly looked: readonly Write[]
  readonly missing: readonly Write[]
  /** Writes whose reads failed, with the last reason: neither found nor missing. */
  readonly unread: readonly Write[]
  readonly reason: string | undefined
}

/** A standby may lag behind the active node. */
const NOT_FROM_A_COPY = { 'X-Vault-Forward': 'active-node' }
const AT_ONCE = 16
const TRIES = 3

/** Reads all of these writes back from a cluster. A response with a different value counts as missing. */
export const readBack = async (lab: LiveLab, cluster: string, writes: readonly Write[]): Promise<ReadBack> => {
  const client = lab.withToken(cluster, await lab.rootToken(cluster))
  const missing: Write[] = []
  const unread: Write[] = []
  let reason: string | undefined
  const look = async (write: Write): Promise<void> => {
    for (let left = TRIES; ; left--) {
      const answer = await client.send('GET', write.key, { headers: NOT_FROM_A_COPY }).catch((error: Error) => error)
      if (!(answer instanceof Error) && answer.status === 404) {
        missing.push(write)
        return
      }
      if (!(answer instanceof Error) && answer.status === 200) {
        const { key } = (answer.json?.data ?? {}) as { key?: unknown }
        if (key !== write.key) missing.push(write)
        return
      }
      if (left > 1) continue
      reason = answer instanceof Error ? answer.message : `${answer.status}`
      unread.push(write)
      return
    }
  }
  try {
    const left = writes.values()
    const worker = async () => {
      for (let next = left.next(); !next.done; next = left.next()) await look(next.value)
    }
    await Promise.all(Array.from({ length: AT_ONCE }, worker))
    return { cluster, looked: writes, missing, unread, reason }
  } finally {
    client.close()
  }
}

/** Returns the number of lost writes, from a read of every acknowledged write. */
export const toRpo = ({ looked, missing, unread }: ReadBack): RpoResult => {
  const isMeasured = unread.length === 0
  const times = missing.map(({ endedMs }) => endedMs)
  const kinds = [...new Set(looked.map(({ kind }) => kind))]
  const countOf = (writes: readonly Write[], kind: ClientKind) => writes.filter((write) => write.kind === kind).length
  const byClient = kinds.map((kind) => {
    const isKindMeasured = countOf(unread, kind) === 0
    return [kind, { acknowledged: countOf(looked, kind), lost: isKindMeasured ? countOf(missing, kind) : null }]
  })
  return {
    writesLost: isMeasured ? missing.length : null,
    acknowledged: looked.length,
    readBack: looked.length - unread.length,
    lost: missing
      .map(({ key, endedMs, cluster, kind }) => ({ key, ackedMs: endedMs, cluster, client: kind }))
      .sort((one, other) => one.ackedMs - other.ackedMs),
    seconds: !isMeasured ? null : times.length === 0 ? 0 : (Math.max(...times) - Math.min(...times)) / 1000,
    byClient: Object.fromEntries(byClient) as RpoResult['byClient'],
  }
}

/** Returns the result if no cluster responded: unknown. */
export const unmeasuredRpo = (ledger: Ledger): RpoResult => ({
  writesLost: null,
  acknowledged: ledger.acknowledged.length,
  readBack: 0,
  lost: [],
  seconds: null,
  byClient: {},
})
