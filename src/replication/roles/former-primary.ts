import { Backoff } from '../../base/backoff.js'
import { primaryCredentialsOf } from '../credentials/ca.js'
import type { ReplicationHost } from '../host/host.js'
import { withoutScheme } from '../rpc/addresses.js'
import type { DataPlane, PrimaryService } from '../host/services.js'
import type { Kind } from '../model/types.js'
import type { Fences } from './fences.js'
import type { PrimaryRole } from './primary-role.js'
import type { RoleRecords } from './role-records.js'
import type { PrimaryRecord } from '../model/state.js'

const TELL_PAUSE_MS_MAX = 30_000
/** Number of heartbeat intervals after which an informed former primary is contacted again. */
const INFORMED_PAUSE_HEARTBEATS = 10

interface FormerPrimaryOptions {
  readonly kind: Kind
  readonly host: Pick<ReplicationHost, 'clock' | 'random' | 'settings' | 'log'>
  readonly roles: RoleRecords
  readonly fences: Fences
  readonly dataPlane: DataPlane
  readonly record: PrimaryRecord
  readonly hooks: PrimaryRole
  readonly registry: PrimaryService['registry']
  readonly signal: AbortSignal
}

/**
 * Informs a former primary of the new epoch, and repeats this until the former primary has joined this cluster or this
 * cluster is no longer primary. The former primary may know another successor, whose epochs are passed to `fences`.
 */
export const tellFormerPrimary = async (options: FormerPrimaryOptions): Promise<void> => {
  const { kind, host, roles, fences, dataPlane, record, hooks, signal } = options
  const { former } = record
  if (!former) return
  const call = { credentials: primaryCredentialsOf(former), addresses: former.primaryAddresses, signal }
  const { heartbeatIntervalMs } = host.settings.times
  const backoff = new Backoff({ initialMs: heartbeatIntervalMs, maxMs: TELL_PAUSE_MS_MAX }, host.random)
  let pauseMs = backoff.next()
  const isPrimary = () => roles.record(kind).mode === 'primary'
  while (!signal.aborted && isPrimary()) {
    const { isHeard, overtaker } = await dataPlane.tell({ ...call, who: hooks.who() })
    if (!isPrimary()) return
    if (overtaker) fences.meet(kind, { ...hooks.who(), ...overtaker })
    if (hasJoined(options, former.primaryAddresses) && (await isForgotten(options))) return
    await host.clock.sleep(pauseMs, signal).catch(() => undefined)
    pauseMs = isHeard ? heartbeatIntervalMs * INFORMED_PAUSE_HEARTBEATS : backoff.next()
  }
}

const hasJoined = ({ registry }: FormerPrimaryOptions, addresses: readonly string[]): boolean => {
  const known = new Set(addresses.map(withoutScheme))
  return registry.views().some((view) => view.clusterAddresses.some((address) => known.has(withoutScheme(address))))
}

/**
 * Removes the former primary from the record. Resolves to false if the record cannot be written, so that the caller
 * retries.
 */
const isForgotten = ({ roles, kind, host }: FormerPrimaryOptions): Promise<boolean> =>
  roles
    .updatePrimary(kind, ({ former: _, ...rest }) => rest)
    .then(
      () => true,
      (error: unknown) => {
        host.log.warn('cannot remove the record of the former primary, trying again', { kind, error })
        return false
      },
    )
