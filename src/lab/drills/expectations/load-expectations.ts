import { counted } from '../../../base/counted.js'
import { formatMs, formatOffset } from '../../texts/format.js'
import type { DrillContext } from '../context/drill-context.js'
import { CLUSTER, COUNT, DURATION, durationOf, mapOf, rowOn, type CheckResult } from '../context/forms.js'
import { describeWanted, findMismatch } from '../context/matcher.js'
import type { RpoResult, RtoResult, TokensResult } from '../context/result.js'
import type { Load } from '../load/load.js'
import { readBack } from '../load/measure.js'

/** The measurements of a load, complete when its clients have stopped. */
export interface Measured {
  readonly context: DrillContext
  readonly load: Load
  readonly rto: RtoResult
  readonly rpo: RpoResult
  /** The cluster from which writes were read back. Undefined if no cluster responded. */
  readonly readOn: string | undefined
  readonly tokens: TokensResult | null
}

/** Types an expectation that the load measures. Valid only at the end of a drill with a load. */
const measured = rowOn<Measured, CheckResult>()

const CLIENT = {
  type: 'string',
  enum: ['old-token', 'new-login', 'reader'],
  description: 'Only clients of this type.',
} as const

const ofClient = (kind: string | undefined): string => (kind === undefined ? '' : ` of ${kind} clients`)

const LOST_SHOWN_MAX = 20

const missed = (...evidence: readonly string[]): CheckResult => ({ passed: false, evidence })

export const LOAD_EXPECTATIONS = {
  rto: measured({
    schema: mapOf(
      'Time from the first write that is rejected or gets no response to the first write that the new primary accepts.',
      [],
      { 'at-most': DURATION, 'at-least': DURATION, client: CLIENT },
    ),
    text({ 'at-most': most, 'at-least': least, client }) {
      const bounds = [most && `at most ${most}`, least && `at least ${least}`].filter(Boolean).join(' and ')
      return `rto${ofClient(client)} ${bounds}`
    },
    problems: ({ 'at-most': most, 'at-least': least }) =>
      most !== undefined || least !== undefined ? [] : ['rto needs "at-most" or "at-least"'],
    run({ rto }, { client, 'at-most': most, 'at-least': least }) {
      const span = client === undefined ? rto : rto.byClient[client]
      if (!span) return missed(`the load has no ${client} clients`)
      const { ms, fromMs, toMs } = span
      const since = `requests failed from ${formatOffset(fromMs ?? 0)}`
      if (ms === null) return missed(`${since}, and no request was accepted afterwards`)
      const after = client === undefined && rto.acceptedBy
      const evidence = [
        fromMs === null ? 'no request failed' : `${since} to ${formatOffset(toMs ?? 0)}: ${formatMs(ms)}`,
        ...(fromMs !== null && after ? [`${after} accepted the first write afterwards`] : []),
      ]
      const isInTime = most === undefined || ms <= durationOf(most)
      return { passed: isInTime && (least === undefined || ms >= durationOf(least)), evidence }
    },
  }),
  rpo: measured({
    schema: mapOf(
      'Number of acknowledged writes that are missing at the end. The drill reads all of them.',
      ['writes-lost'],
      { 'writes-lost': COUNT, client: CLIENT },
    ),
    text: ({ client, 'writes-lost': lost }) => `rpo${ofClient(client)}: writes lost ${describeWanted(lost)}`,
    run({ rpo, readOn }, { client, 'writes-lost': wanted }) {
      const own = client === undefined ? { ...rpo, lost: rpo.writesLost } : rpo.byClient[client]
      if (!own || own.lost === null)
        return missed(`not measured: ${rpo.readBack} of ${rpo.acknowledged} acknowledged writes could be read back`)
      const lost = rpo.lost.filter((write) => client === undefined || write.client === client)
      const shown = lost.slice(0, LOST_SHOWN_MAX).map(({ key, cluster, ackedMs }) => {
        return `${key}, acknowledged by ${cluster} at ${formatOffset(ackedMs)}, is missing`
      })
      const more = lost.length > LOST_SHOWN_MAX ? [`and ${lost.length - LOST_SHOWN_MAX} more`] : []
      const read = `${counted(own.acknowledged, 'write was', 'writes were')} acknowledged and read back on ${readOn}`
      const all = `${read}: ${counted(own.lost, 'is', 'are')} missing`
      return { passed: findMismatch(own.lost, wanted) === undefined, evidence: [all, ...shown, ...more] }
    },
  }),
  tokens: measured({
    schema: mapOf(
      'Tokens from before the failover that are still valid at the end of the drill, on the cluster that then serves clients.',
      ['survived'],
      {
        survived: {
          type: ['string', 'integer'],
          pattern: '^(all|none)$',
          minimum: 0,
          title: '"all", "none" or a number',
        },
      },
    ),
    text: ({ survived }) => `tokens survived: ${survived}`,
    run({ tokens }, { survived }) {
      if (!tokens) return missed('not measured: the load holds no tokens')
      const wanted = survived === 'all' ? tokens.total : survived === 'none' ? 0 : survived
      const lost = tokens.lost.map(({ name, reason }) => `${name} is not valid: ${reason}`)
      const evidence = [`${tokens.survived} of ${tokens.total} tokens issued before the first step are valid`, ...lost]
      return { passed: tokens.survived === wanted, evidence }
    },
  }),
  writes: measured({
    schema: mapOf('Acknowledged writes of the load, read on one cluster.', ['on', 'lost'], {
      'accepted-by': { ...CLUSTER, description: 'Only writes that this cluster accepted.' },
      on: CLUSTER,
      lost: COUNT,
      'at-least': {
        type: 'integer',
        minimum: 0,
        default: 1,
        description: 'Minimum number of accepted writes.',
      },
    }),
    text: ({ 'accepted-by': by, on, lost }) =>
      `number of writes${by ? ` accepted by ${by}` : ''} that are missing on ${on}: ${describeWanted(lost)}`,
    async run({ context, load }, { 'accepted-by': by, on, lost, 'at-least': least = 1 }) {
      const writes = load.acknowledged.filter(({ cluster }) => by === undefined || cluster === by)
      if (writes.length < least)
        return missed(`${by ?? 'the lab'} accepted ${counted(writes.length, 'write')}, not ${least} or more`)
      const { missing, unread, reason } = await readBack(context, on, writes)
      if (unread.length > 0)
        return missed(`not measured: ${unread.length} of ${writes.length} could not be read: ${reason}`)
      const shown = missing.slice(0, LOST_SHOWN_MAX).map(({ key }) => `${key} is missing`)
      const evidence = [`${missing.length} of ${writes.length} writes are missing on ${on}`, ...shown]
      return { passed: findMismatch(missing.length, lost) === undefined, evidence }
    },
  }),
  refusals: measured({
    schema: mapOf('Client requests that were rejected or got no response.', ['count'], {
      count: COUNT,
      containing: { type: 'string', description: 'Only requests whose status or error contains this text.' },
      cluster: { ...CLUSTER, description: 'Only requests to this cluster.' },
    }),
    text: ({ count, containing, cluster }) =>
      `failed requests${cluster ? ` to ${cluster}` : ''}${containing ? ` with "${containing}"` : ''}: ${describeWanted(count)}`,
    run({ load }, { count, containing = '', cluster }) {
      const refusals = load.attempts.filter(
        ({ isAccepted, reason, cluster: at }) =>
          !isAccepted && reason.includes(containing) && (cluster === undefined || at === cluster),
      )
      const texts = new Map<string, number>()
      for (const { reason } of refusals) texts.set(reason, (texts.get(reason) ?? 0) + 1)
      const most = [...texts].sort(([, one], [, other]) => other - one).slice(0, LOST_SHOWN_MAX)
      return {
        passed: findMismatch(refusals.length, count) === undefined,
        evidence: [
          `${counted(refusals.length, 'request was', 'requests were')} rejected or got no response`,
          ...most.map(([text, n]) => `${counted(n, 'time')}: ${text}`),
        ],
      }
    },
  }),
}
