import { invalid } from '../../logical/errors.js'
import type { Response } from '../../logical/request.js'
import type { ReplicationContext } from '../context.js'
import { DR_GATE_TEXT, GUARDS } from './guard-texts.js'
import { isSecondaryStage } from '../roles/machine.js'
import { WARNINGS } from '../texts.js'
import type { Kind } from '../types.js'

/** Repair and inspection of the trees, and a restart of replication, wherever a cluster takes part in it. */

/** Refuses where nothing is replicated; without a kind either will do, but not from behind a DR secondary. */
export const requireEnabled = ({ roles }: ReplicationContext, kind: Kind | undefined): void => {
  const { dr, performance } = roles.facts().stages
  if (isSecondaryStage(dr)) throw invalid(DR_GATE_TEXT)
  const isEnabled = kind ? roles.facts().stages[kind] !== 'disabled' : dr !== 'disabled' || performance !== 'disabled'
  if (!isEnabled) throw invalid(GUARDS.notEnabled)
}

export interface ReindexFields {
  readonly diff: boolean
  /** Every rebuild scans the stored data in full; there is no shorter way to force. */
  readonly force: boolean
  readonly skipFlush: boolean
}

/** Answers at once; the work goes on in the background. */
export const reindex = ({ upkeep }: ReplicationContext, { diff, skipFlush }: ReindexFields): Response => {
  upkeep.startReindex({ diff, skipFlush })
  return { data: null, warnings: [WARNINGS.reindexing] }
}

export const recover = ({ host }: ReplicationContext): Response => {
  host.restart('recovery was asked for')
  return { data: null, warnings: [WARNINGS.recovering] }
}

export const checkTrees = async ({ upkeep }: ReplicationContext): Promise<Response> => ({ data: await upkeep.check() })
