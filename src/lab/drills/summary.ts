import { formatMs } from '../report/format.js'
import type { DrillResult } from './result.js'

/** How a condition that was looked at is marked. */
export const mark = (isWell: boolean): string => (isWell ? '✓' : '✗')

/** `RTO 2.4 s (slo 60 s) ✓  RPO 0 writes ✓  tokens 3/3 ✓`, and on a line of its own how it ended. What was not measured says so. */
export const summaryOf = (result: DrillResult): string => {
  const { rto, rpo, tokens, verdict, durationMs } = result
  const isMet = (word: string) => result.expectations.every(({ text, passed }) => passed || !text.startsWith(word))
  const parts = [
    rto &&
      `RTO ${rto.ms === null ? 'without end' : formatMs(rto.ms)}${rto.sloMs === undefined ? '' : ` (slo ${formatMs(rto.sloMs)})`} ${mark(isMet('rto'))}`,
    rpo &&
      `RPO ${rpo.writesLost === null ? 'not measured' : `${rpo.writesLost} write${rpo.writesLost === 1 ? '' : 's'}`} ${mark(isMet('rpo'))}`,
    tokens && `tokens ${tokens.survived}/${tokens.total} ${mark(isMet('tokens'))}`,
  ].filter(Boolean)
  const end = `${verdict === 'passed' ? 'passed' : 'not passed'} after ${formatMs(durationMs)}`
  return parts.length === 0 ? end : `${parts.join('  ')}\n${end}`
}

/** Why a drill did not pass, as one clause. */
export const complaintOf = ({ drill, verdict, error, steps, expectations }: DrillResult): string => {
  if (verdict === 'error') return `the drill ${drill} could not be played: ${error}`
  const step = steps.find(({ outcome }) => outcome === 'failed')
  const failed = expectations.filter(({ passed }) => !passed).map(({ text }) => text)
  return `the drill ${drill} did not pass: ${step ? `the step "${step.name}"` : failed.join('; ')}`
}
