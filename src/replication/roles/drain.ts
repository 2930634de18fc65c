import { awaitChange } from '../../base/await-change.js'
import type { Clock } from '../../base/clock.js'
import type { PrimaryService } from '../host/services.js'
import type { SecondaryView } from '../model/types.js'
import type { Registration } from '../model/state.js'

interface DrainOptions {
  readonly registry: PrimaryService['registry']
  readonly registrations: readonly Registration[]
  /** The index that all secondaries must apply. */
  readonly index: number
  readonly timeoutMs: number
  readonly clock: Clock
  readonly signal: AbortSignal
}

/** A secondary that has not applied all entries. */
export interface Straggler {
  readonly secondaryId: string
  readonly isConnected: boolean
  /** Index of the first entry that the secondary may not have applied. */
  readonly fromIndex: number
}

/**
 * Waits for at most `timeoutMs` until secondaries have applied `index`. Waits for the secondaries that are connected
 * now or were connected at the start of the call, because a lost connection may be reopened. Resolves to the registered
 * secondaries that have not applied `index`. Rejects with the signal's reason.
 */
export const drain = async (options: DrainOptions): Promise<readonly Straggler[]> => {
  const { registry, index, signal } = options
  signal.throwIfAborted()
  const isBehind = (view: SecondaryView | undefined) => (view?.appliedIndex ?? 0) < index
  const awaited = new Set(registry.views().flatMap((view) => (view.isConnected ? [view.secondaryId] : [])))
  const isOver = () =>
    !registry.views().some((view) => (view.isConnected || awaited.has(view.secondaryId)) && isBehind(view))
  if (!isOver()) await awaitChange((listener) => registry.watch(listener), isOver, options)
  const views = new Map(registry.views().map((view) => [view.secondaryId, view]))
  return options.registrations.flatMap(({ id, state }) => {
    const view = views.get(id)
    if (state !== 'connected' || !isBehind(view)) return []
    return [{ secondaryId: id, isConnected: view?.isConnected ?? false, fromIndex: (view?.appliedIndex ?? 0) + 1 }]
  })
}
