import { DR_REFUSAL, invalid } from '../../logical/errors.js'
import type { Response } from '../../logical/request.js'
import type { ReplicationContext } from '../roles/context.js'
import { GUARDS } from '../model/guard-texts.js'
import { isSecondaryStage } from '../model/machine.js'
import { aheadOf } from '../model/state.js'
import { releaseHeld } from '../roles/keep-losses.js'
import { KINDS } from '../roles/role-records.js'
import { WARNINGS, warned } from '../roles/texts.js'
import type { Kind } from '../model/types.js'

/** API operations that repair and verify the trees, and that restart replication. */

/** Throws if this kind of replication is disabled (without `kind`: if both are disabled), or on a DR secondary. */
export const requireEnabled = ({ roles }: ReplicationContext, kind: Kind | undefined): void => {
  const { dr, performance } = roles.facts().stages
  if (isSecondaryStage(dr)) throw invalid(DR_REFUSAL)
  const isEnabled = kind ? roles.facts().stages[kind] !== 'disabled' : dr !== 'disabled' || performance !== 'disabled'
  if (!isEnabled) throw invalid(GUARDS.notEnabled)
}

interface ReindexFields {
  readonly diff: boolean
  /**
   * On a primary, accepts the remaining data of a damaged store as correct. On a secondary, follows a rewound primary
   * again. Without `force`, a secondary still repairs damaged data from its primary.
   */
  readonly force: boolean
  readonly skipFlush: boolean
}

/** Starts the rebuild of the trees, which continues in the background. */
export const reindex = (context: ReplicationContext, { diff, force, skipFlush }: ReindexFields): Response => {
  const { maintenance, host, roles } = context
  const isFollower = Object.values(roles.facts().stages).some(isSecondaryStage)
  maintenance.startReindex({ diff, skipFlush, needsWhole: !force && !isFollower })
  if (force && aheadKind(context)) {
    const follow = async () => {
      await maintenance.settled()
      await followAgain(context)
    }
    follow().catch((error: unknown) => host.log.error('cannot follow the primary again', { error: String(error) }))
  }
  return warned(WARNINGS.reindexing)
}

/**
 * Restarts replication. If this cluster is ahead of its rewound primary, requires `force`, lists the entries that the
 * primary lacks, and then discards them. Rejects with LogicalError 400 if `force` is missing.
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
 * Follows a rewound primary again. Removes the stored position last, so that the cluster detects the rewound primary
 * again after a crash. Without a position, all data is compared.
 */
const followAgain = (context: ReplicationContext): Promise<void> =>
  context.roles.exclusively(async () => {
    const { host, roles } = context
    const kind = aheadKind(context)
    if (!kind) return
    host.log.warn('following a primary that was restored to an earlier state', { kind })
    await releaseHeld(host, kind)
    await roles.update(kind, (record) => {
      if (!('ahead' in record)) return record
      const { ahead: _, ...rest } = record
      return rest
    })
    await host.store.forgetRemote()
    host.restart('recovery requested')
  })
