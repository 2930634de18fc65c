import { readBack } from '../load/read-back.js'
import { findActive, findPrimary } from '../load/accounts.js'
import type { Load } from '../load/load.js'
import { formatMs, formatOffset } from '../../texts/format.js'
import type { Expectation, ExpectationValues } from '../drill.js'
import { findMismatch } from '../matcher.js'
import { durationOf } from '../parse.js'
import type { RpoResult, RtoResult, TokensResult } from '../result.js'
import type { LOAD_EXPECTATIONS } from '../schema/expectations.js'
import type { DrillContext } from '../drill-context.js'
import type { Seen } from './facts.js'

/** The measurements of a load, complete when its clients have stopped. */
export interface Measured {
  readonly load: Load
  readonly rto: RtoResult
  readonly rpo: RpoResult
  /** The cluster from which writes were read back. Undefined if no cluster responded. */
  readonly readOn: string | undefined
  readonly tokens: TokensResult | null
}

export type LoadExpectation = Extract<Expectation, { readonly about: keyof typeof LOAD_EXPECTATIONS }>

const LOST_SHOWN_MAX = 20

export const judgeLoad = async (
  context: DrillContext,
  expectation: LoadExpectation,
  measured: Measured,
): Promise<Seen> => {
  switch (expectation.about) {
    case 'rto':
      return judgeRto(expectation.with, measured.rto)
    case 'rpo':
      return judgeRpo(expectation.with, measured)
    case 'tokens':
      return judgeTokens(expectation.with, measured.tokens)
    case 'writes':
      return judgeWrites(context, expectation.with, measured.load)
    case 'refusals':
      return judgeRefusals(expectation.with, measured.load)
  }
}

const judgeRto = (wanted: ExpectationValues['rto'], rto: RtoResult): Seen => {
  const { client, 'at-most': most, 'at-least': least } = wanted
  const span = client === undefined ? rto : rto.byClient[client]
  if (!span) return { passed: false, evidence: [`the load has no client of the kind ${client}`] }
  if (span.ms === null)
    return {
      passed: false,
      evidence: [`refused or not answered from ${formatOffset(span.fromMs ?? 0)} on, and not accepted again`],
    }
  const { acceptedBy } = rto
  const evidence =
    span.fromMs === null
      ? ['nothing was refused']
      : [
          `refused or not answered from ${formatOffset(span.fromMs)} to ${formatOffset(span.toMs ?? 0)}: ${formatMs(span.ms)}`,
          ...(client === undefined && acceptedBy ? [`the first write afterwards was accepted by ${acceptedBy}`] : []),
        ]
  const isWithin =
    (most === undefined || span.ms <= durationOf(most)) && (least === undefined || span.ms >= durationOf(least))
  return { passed: isWithin, evidence }
}

const judgeRpo = ({ client, 'writes-lost': wanted }: ExpectationValues['rpo'], { rpo, readOn }: Measured): Seen => {
  const own = client === undefined ? { lost: rpo.writesLost, acknowledged: rpo.acknowledged } : rpo.byClient[client]
  if (!own || own.lost === null)
    return {
      passed: false,
      evidence: [`not measured: ${rpo.readBack} of ${rpo.acknowledged} acknowledged writes could be read back`],
    }
  const lost = rpo.lost.filter((write) => client === undefined || write.client === client)
  const shown = lost.slice(0, LOST_SHOWN_MAX).map(({ key, cluster, ackedMs }) => {
    return `${key}, acknowledged by ${cluster} at ${formatOffset(ackedMs)}, is not there`
  })
  const more = lost.length > LOST_SHOWN_MAX ? [`and ${lost.length - LOST_SHOWN_MAX} more`] : []
  const mismatch = findMismatch(own.lost, wanted, 'writes lost')
  return {
    passed: mismatch === undefined,
    evidence: [
      `${own.acknowledged} writes were acknowledged and read back on ${readOn}: ${own.lost} are missing`,
      ...shown,
      ...more,
    ],
  }
}

const judgeTokens = ({ survived }: ExpectationValues['tokens'], tokens: TokensResult | null): Seen => {
  if (!tokens) return { passed: false, evidence: ['not measured: the load holds no tokens'] }
  const wanted = survived === 'all' ? tokens.total : survived === 'none' ? 0 : survived
  return {
    passed: tokens.survived === wanted,
    evidence: [
      `${tokens.survived} of ${tokens.total} tokens of before still work`,
      ...tokens.lost.map(({ name, reason }) => `${name} does not: ${reason}`),
    ],
  }
}

const judgeWrites = async (context: DrillContext, wanted: ExpectationValues['writes'], load: Load): Promise<Seen> => {
  const { 'accepted-by': by, on, lost, 'at-least': least = 1 } = wanted
  const writes = load.ledger.acknowledged.filter(({ cluster }) => by === undefined || cluster === by)
  if (writes.length < least)
    return { passed: false, evidence: [`${by ?? 'the lab'} accepted ${writes.length} writes, not ${least} or more`] }
  const { missing, unread, reason } = await readBack(context.lab, on, writes)
  if (unread.length > 0)
    return {
      passed: false,
      evidence: [`not measured: ${unread.length} of ${writes.length} could not be read: ${reason}`],
    }
  return {
    passed: findMismatch(missing.length, lost) === undefined,
    evidence: [
      `${missing.length} of ${writes.length} writes are missing on ${on}`,
      ...missing.slice(0, LOST_SHOWN_MAX).map(({ key }) => `${key} is not there`),
    ],
  }
}

const judgeRefusals = ({ count, containing, cluster }: ExpectationValues['refusals'], { ledger }: Load): Seen => {
  const refusals = ledger.refusals.filter(
    (attempt) =>
      (containing === undefined || attempt.reason.includes(containing)) &&
      (cluster === undefined || attempt.cluster === cluster),
  )
  const texts = new Map<string, number>()
  for (const { reason } of refusals) texts.set(reason, (texts.get(reason) ?? 0) + 1)
  const most = [...texts].sort(([, one], [, other]) => other - one).slice(0, LOST_SHOWN_MAX)
  return {
    passed: findMismatch(refusals.length, count) === undefined,
    evidence: [
      `${refusals.length} requests were refused or not answered`,
      ...most.map(([text, n]) => `${n} times: ${text}`),
    ],
  }
}

/** Chooses the cluster on which acknowledged writes are read back at the end. */
export const findTruth = async (context: DrillContext, wanted: string | undefined): Promise<string> =>
  wanted ?? findPrimary(context.lab, await findActive(context.lab), context.promoted)
