import { DR_REFUSAL, invalid } from '../../logical/errors.js'
import type { Response } from '../../logical/request.js'
import type { ReplicationContext } from '../roles/context.js'
import { GUARDS } from '../model/guard-texts.js'
import { isSecondaryStage } from '../model/machine.js'
import { aheadOf } from '../model/state.js'
import { KINDS } from '../roles/role-records.js'
import { WARNINGS, warned } from '../roles/texts.js'
import type { Kind } from '../model/types.js'

/** Repair and inspection of the trees, and a restart of replication. */

/** Throws if the kind is disabled (without `kind`: if both kinds are disabled), and always on a DR secondary. */
export const requireEnabled = ({ roles }: ReplicationContext, kind: Kind | undefined): void => {
  const { dr, performance } = roles.facts().stages
  if (isSecondaryStage(dr)) throw invalid(DR_REFUSAL)
  const isEnabled = kind ? roles.facts().stages[kind] !== 'disabled' : dr !== 'disabled' || performance !== 'disabled'
  if (!isEnabled) throw invalid(GUARDS.notEnabled)
}

interface ReindexFields {
  readonly diff: boolean
  /**
   * On a primary: accepts the remaining data of a damaged store as correct. On a secondary: follows a rewound primary
   * again. A secondary repairs damaged data from its primary in any case.
   */
  readonly force: boolean
  readonly skipFlush: boolean
}

/** Starts the rebuild. It continues in the background. */
export const reindex = (context: ReplicationContext, { diff, force, skipFlush }: ReindexFields): Response => {
  const { maintenance, host, roles } = context
  const isFollower = Object.values(roles.facts().stages).some(isSecondaryStage)
  maintenance.startReindex({ diff, skipFlush, needsWhole: !force && !isFollower })
  if (force && aheadKind(context)) {
    const follow = async () => {
      await maintenance.settled()
      await followAgain(context)
    }
    follow().catch((error: unknown) => host.log.error('could not follow the primary again', { error: String(error) }))
  }
  return warned(WARNINGS.reindexing)
}

/**
 * Restarts replication. A cluster that is ahead of its primary continues only with `force`. It then discards the
 * entries that the primary does not have, after it has stored a list of them.
 */
export const recover = async (context: ReplicationContext, { force }: { force: boolean }): Promise<Response> => {
  if (aheadKind(context)) {
    if (!force) throw invalid(GUARDS.aheadOfPrimary)
    await followAgain(context)
  } else {
    context.host.restart('recovery requested')
  }
  return warned(WARNINGS.recovering)
}

const aheadKind = ({ roles }: ReplicationContext): Kind | undefined =>
  KINDS.find((kind) => aheadOf(roles.record(kind)) !== undefined)

/**
 * Follows a rewound primary again. Removes the stored position last: if the server crashes before, the cluster detects
 * the rewound primary again. Without a position, all data is compared.
 */
const followAgain = (context: ReplicationContext): Promise<void> =>
  context.roles.exclusively(async () => {
    const { host, roles } = context
    const kind = aheadKind(context)
    if (!kind) return
    host.log.warn('following a rewound primary', { kind })
    await roles.update(kind, (record) => {
      if (!('ahead' in record)) return record
      const { ahead: _, ...rest } = record
      return rest
    })
    await host.store.forgetRemote()
    host.restart('recovery requested')
  })
