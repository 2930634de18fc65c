import { baseIngredients, type ReplicationContext } from './context.js'
import { plantDevRoot } from '../credentials/dev-root.js'
import { isAstrayFrom, surplusEntriesOf } from '../model/recent-frames.js'
import type { DevServer } from '../host/host.js'
import type { Kind, PrimaryPosition } from '../model/types.js'
import type { Ingredients } from './change-record.js'
import type { Straggler } from './drain.js'
import { chainUpTo, type EpochChain, findSurplus } from '../model/epoch.js'
import { keepOwnLoss, keepPromotionLoss, keepSurplusLoss, LOSS_REASONS } from './keep-losses.js'
import { decideFinishBootstrap } from './decide-secondary.js'
import type { Decision, Preparation } from '../model/machine.js'
import { orThrow, type WipeMaterial } from './role-records.js'
import { lastIndexOf } from '../host/announced.js'

/** Inputs of the effects that the caller created or received from another cluster. */
interface Given extends Partial<Omit<Ingredients, 'newId' | 'epochId' | 'ended' | 'fork'>> {
  readonly material?: WipeMaterial
  readonly dev?: DevServer | undefined
}

interface Prepared {
  /** The secondaries that have not applied all entries, and the last index that they must apply. */
  stragglers: readonly Straggler[]
  lastIndex: number
  /** The IDs of the secondaries that were connected when the role changed. */
  connected: readonly string[]
  /** The position in the primary's log at which the follower stopped. */
  position: PrimaryPosition | undefined
}

/** One execution of a decision: its inputs, its results so far, and functions that undo them. */
interface Run {
  readonly context: ReplicationContext
  readonly given: Given
  readonly prepared: Prepared
  readonly undo: (() => void)[]
}

/**
 * Executes the effects of a decision, or throws its refusal. Must run within `roles.exclusively`. If a step before the
 * commit fails, the role does not change. `decide` is called again after the preparations, because data that arrived
 * before the follower stopped may have changed another role.
 */
export const execute = async (
  context: ReplicationContext,
  kind: Kind,
  decide: () => Decision,
  given: Given = {},
): Promise<Readonly<Prepared>> => {
  const decision = orThrow(decide())
  const prepared = { stragglers: [], lastIndex: 0, connected: [], position: undefined }
  const run: Run = { context, given, prepared, undo: [] }
  const { material, dev: _, ...learnt } = given
  try {
    for (const effect of decision.prepare) await prepare(run, effect)
    // The fork must be read after the follower has stopped and the losses are listed.
    const change = orThrow(decide())
    await context.roles.change(change, { ...baseIngredients(context, kind), ...learnt }, material)
  } catch (error) {
    for (const undo of run.undo.reverse()) undo()
    throw error
  }
  return run.prepared
}

/** Completes the first copy, so that the cluster serves requests. No API request triggers this. */
export const finishBootstrap = (context: ReplicationContext, dev: DevServer | undefined, kind: Kind): Promise<void> =>
  context.roles.exclusively(async () => {
    await execute(context, kind, () => decideFinishBootstrap(kind, context.roles.facts()), { dev })
  })

const prepare = async ({ context, given, prepared, undo }: Run, effect: Preparation): Promise<void> => {
  const { host, roles, running } = context
  switch (effect.do) {
    case 'fence-writes':
      undo.push(await host.fenceWrites(effect.kind))
      return
    case 'drain':
      prepared.stragglers = await running[effect.kind].drain()
      prepared.lastIndex = lastIndexOf(host.store, effect.kind)
      prepared.connected = running[effect.kind].connectedIds
      return
    case 'stop-following':
      prepared.position = host.store.remotePosition
      await running[effect.kind].stopFollowing()
      undo.push(() => host.restart('a role change failed before its commit'))
      return
    case 'list-missing':
      return keepPromotionLoss(host, effect.kind, roles.record(effect.kind), effect.safety)
    case 'list-surplus':
      if (!given.joining) throw new Error('the epochs of the new primary are missing')
      return listSurplus(context, effect.kind, given.joining.epochs, host.store.remotePosition ?? prepared.position)
    case 'plant-dev-root':
      return plantDevRoot(given.dev, host)
  }
}

/**
 * Records the entries that the new primary does not have, before this cluster follows it. On a former primary, these
 * entries are in its own log. On a secondary, they are in the received log.
 */
const listSurplus = async (
  { host, roles, running }: ReplicationContext,
  kind: Kind,
  newer: EpochChain,
  position: PrimaryPosition | undefined,
): Promise<void> => {
  const record = roles.record(kind)
  if (record.mode === 'disabled' || record.mode === 'primary') return
  if (!record.hasFollowed) return keepOwnLoss(host, kind, record.epochs, newer)
  const isAstray = isAstrayFrom(running[kind].follower?.recentPositions())
  const surplus = position && findSurplus(chainUpTo(record.epochs, position.epoch), newer, isAstray)
  const entries = surplus && surplusEntriesOf(position, surplus, (index) => running[kind].recentAfter(index))
  if (entries) await keepSurplusLoss(host, kind, entries, LOSS_REASONS.overtaken)
}
