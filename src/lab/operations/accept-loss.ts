import { LabError } from '../model/lab-error.js'
import { type AcceptedLoss, describeLoss, isAccepted, isLevel } from '../requests/expected-loss.js'
import type { Runbook } from './runbook.js'

/** A failover, from the supposedly lost primary to its DR secondary. */
export interface Failover {
  readonly lost: string
  readonly to: string
  readonly acceptLoss: AcceptedLoss
}

/** Rejects if a failover from a primary that is down may lose more than is accepted. Resolves with whether it may lose anything. */
export const requireAccepted = async (runbook: Runbook, { lost, to, acceptLoss }: Failover): Promise<boolean> => {
  const loss = await runbook.expectedLoss(lost, to)
  if (isLevel(loss)) return false
  const { silentSeconds, isExact, entries } = loss
  const heartbeat = silentSeconds === null ? 'unknown' : `${silentSeconds} s ago`
  const found = `${lost} is down, and a failover to ${to} ${describeLoss(loss)} (last heartbeat from ${lost}: ${heartbeat})`
  if (!isAccepted(loss, acceptLoss))
    throw new LabError('remote', `${found}. Start ${lost} again, or pass --accept-loss ${isExact ? entries : 'any'}`)
  runbook.announce(found)
  return true
}
