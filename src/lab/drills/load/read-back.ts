import type { LiveLab } from '../../live/live-lab.js'
import type { ClientKind, LostWrite, RpoResult } from '../result.js'
import type { Attempt, Ledger } from './ledger.js'

type Write = Attempt & { readonly key: string }

interface ReadBack {
  /** Where it was looked for. */
  readonly cluster: string
  readonly looked: readonly Write[]
  readonly missing: readonly Write[]
  /** Neither found nor found missing, such as when no answer came; with the last reason. */
  readonly unread: readonly Write[]
  readonly reason: string | undefined
}

/** A standby may be a moment behind what it is about. */
const NOT_FROM_A_COPY = { 'X-Vault-Forward': 'active-node' }
const AT_ONCE = 16
const TRIES = 3

/** Looks for every one of these writes on a cluster. What is answered with something else than its value is missing. */
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

/** Acknowledged writes that are not there, by a read of every write. */
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
    lost: missing.map(toLost).sort((one, other) => one.ackedMs - other.ackedMs),
    seconds: !isMeasured ? null : times.length === 0 ? 0 : (Math.max(...times) - Math.min(...times)) / 1000,
    byClient: Object.fromEntries(byClient) as RpoResult['byClient'],
  }
}

/** When nobody could be asked, nothing is known. */
export const unmeasuredRpo = (ledger: Ledger): RpoResult => ({
  writesLost: null,
  acknowledged: ledger.acknowledged.length,
  readBack: 0,
  lost: [],
  seconds: null,
  byClient: {},
})

const toLost = ({ key, endedMs, cluster, kind }: Write): LostWrite => ({
  key,
  ackedMs: endedMs,
  cluster,
  client: kind,
})
