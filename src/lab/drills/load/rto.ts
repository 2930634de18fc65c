import type { ClientKind, ClientRto, RtoResult } from '../context/result.js'
import type { Attempt } from './ledger.js'

/**
 * A period without service, computed from client results only. It starts when a client sends its first failing request, and ends
 * with the response to its next accepted request. Overlapping interruptions of several clients count as one interruption of the
 * lab.
 */
interface Interruption {
  readonly fromMs: number
  /** Undefined if it never ended. */
  readonly toMs: number | undefined
  /** The clusters that accepted the last request before the interruption, and the first after it. */
  readonly before: string | undefined
  readonly after: string | undefined
}

/** Returns interruptions sorted by start. `attempts` are those of several clients in the order of completion. */
const findInterruptions = (attempts: readonly Attempt[]): Interruption[] => {
  const clients = [...new Set(attempts.map(({ client }) => client))]
  return clients
    .flatMap((name) => ofClient(attempts.filter(({ client }) => client === name)))
    .sort((one, other) => one.fromMs - other.fromMs)
}

const ofClient = (attempts: readonly Attempt[]): Interruption[] => {
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
  return fromMs === undefined ? found : [...found, { fromMs, toMs: undefined, before, after: undefined }]
}

/** Groups overlapping interruptions. */
const mergeInterruptions = (interruptions: readonly Interruption[]): (readonly Interruption[])[] => {
  const groups: Interruption[][] = []
  let untilMs = Number.NEGATIVE_INFINITY
  for (const one of interruptions) {
    if (one.fromMs > untilMs) groups.push([])
    groups.at(-1)?.push(one)
    untilMs = Math.max(untilMs, one.toMs ?? Number.POSITIVE_INFINITY)
  }
  return groups
}

interface Span {
  readonly fromMs: number
  readonly toMs: number | undefined
  readonly acceptedBy: string | undefined
}

/**
 * Returns the span of a group. If clients move to another cluster, as in a failover, it ends with the first write that this
 * cluster accepts. Otherwise, it ends when the last client is served again.
 */
const spanOf = (group: readonly Interruption[]): Span => {
  const fromMs = Math.min(...group.map((one) => one.fromMs))
  const ended = group.filter((one): one is Interruption & { toMs: number } => one.toMs !== undefined)
  const moved = ended.filter(({ before, after }) => before !== after).sort((one, other) => one.toMs - other.toMs)
  const [first] = moved
  if (first) return { fromMs, toMs: first.toMs, acceptedBy: first.after }
  if (ended.length < group.length) return { fromMs, toMs: undefined, acceptedBy: undefined }
  const last = ended.reduce((one, other) => (other.toMs > one.toMs ? other : one))
  return { fromMs, toMs: last.toMs, acceptedBy: last.after }
}

const lengthOf = ({ fromMs, toMs }: Span): number => (toMs ?? Number.POSITIVE_INFINITY) - fromMs

/** Returns the longest interruption of the lab: in total, and per kind of client. */
export const measureRto = (attempts: readonly Attempt[]): RtoResult => {
  const span = longest(attempts.filter(({ action }) => action === 'write'))
  const ofKind = (kind: ClientKind): ClientRto | null => {
    const own = attempts.filter((attempt) => attempt.kind === kind)
    return own.length === 0 ? null : toRto(longest(own))
  }
  return {
    ...toRto(span),
    acceptedBy: span?.acceptedBy ?? null,
    byClient: { 'old-token': ofKind('old-token'), 'new-login': ofKind('new-login'), reader: ofKind('reader') },
  }
}

const longest = (attempts: readonly Attempt[]): Span | undefined =>
  mergeInterruptions(findInterruptions(attempts))
    .map(spanOf)
    .reduce<Span | undefined>((one, other) => (one && lengthOf(one) >= lengthOf(other) ? one : other), undefined)

const toRto = (span: Span | undefined): ClientRto => {
  if (!span) return { ms: 0, fromMs: null, toMs: null }
  const { fromMs, toMs } = span
  return { ms: toMs === undefined ? null : toMs - fromMs, fromMs, toMs: toMs ?? null }
}
