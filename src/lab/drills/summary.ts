import { counted } from '../../base/counted.js'
import { formatMs } from '../texts/format.js'
import type { DrillResult } from './context/result.js'

export const mark = (isWell: boolean): string => (isWell ? '✓' : '✗')

const UNMEASURED = 'not measured'

/** Returns the measurements, such as `RTO 2.4 s (slo 60 s) ✓  tokens 3/3 ✓`, and a line with the verdict. */
export const summaryOf = (result: DrillResult): string => {
  const { rto, rpo, tokens, verdict, durationMs } = result
  const shown = {
    RTO:
      rto &&
      `${rto.ms === null ? 'no recovery' : formatMs(rto.ms)}${rto.sloMs === undefined ? '' : ` (slo ${formatMs(rto.sloMs)})`}`,
    RPO: rpo && (rpo.writesLost === null ? UNMEASURED : counted(rpo.writesLost, 'write')),
    tokens: tokens && `${tokens.survived}/${tokens.total}`,
  }
  const parts = Object.entries(shown).flatMap(([name, text]) => {
    const asked = result.expectations.filter((one) => one.text.startsWith(name.toLowerCase()))
    if (text === null && asked.length === 0) return []
    const isMet = (text ?? UNMEASURED) !== UNMEASURED && asked.every(({ passed }) => passed)
    return [`${name} ${text ?? UNMEASURED} ${mark(isMet)}`]
  })
  const end = `${verdict === 'passed' ? 'passed' : 'not passed'} after ${formatMs(durationMs)}`
  return parts.length === 0 ? end : `${parts.join('  ')}\n${end}`
}

/** Returns why a drill did not pass, as one clause. */
export const describeFailure = ({ drill, verdict, error, steps, expectations }: DrillResult): string => {
  if (verdict === 'error') return `the drill ${drill} could not run: ${error}`
  const step = steps.find(({ outcome }) => outcome === 'failed')
  const failed = expectations.filter(({ passed }) => !passed).map(({ text }) => text)
  return `the drill ${drill} did not pass: ${step ? `the step "${step.name}" failed` : failed.join('; ')}`
}
