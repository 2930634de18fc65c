import { yieldToEventLoop } from '../../base/turn.js'
import { LogicalError } from '../../logical/errors.js'
import type { Visibility } from '../../logical/request.js'
import { offerDevRoot } from '../credentials/dev-root.js'
import { hasEnded } from '../model/epoch.js'
import type { Fences } from './fences.js'
import type { FilterStore } from '../filter/filter-store.js'
import { encodeAnswer, encodeFailure } from '../forwarding/forward-codec.js'
import { decodeRequest } from '../forwarding/forward-request.js'
import type { ReplicationHost, RoleServices } from '../host/host.js'
import type { RoleRecords } from './role-records.js'
import { refusalCodeOf, refusalError } from '../rpc/refusal.js'
import type { PrimaryRecord, Registration } from '../model/state.js'
import { withScheme } from '../rpc/addresses.js'
import type * as Model from '../model/types.js'
import { findVersionObjection } from '../model/version.js'

export type PrimaryHost = Pick<
  ReplicationHost,
  'identity' | 'isLeading' | 'settings' | 'clock' | 'log' | 'store' | 'exportKeyMaterial'
>

interface PrimaryRoleOptions {
  readonly kind: Model.Kind
  readonly host: PrimaryHost
  readonly services: RoleServices
  readonly roles: RoleRecords
  readonly fences: Fences
  readonly filters: FilterStore
  /** Returns the connected DR secondaries. One of them may replace this cluster later. */
  readonly standbys: () => readonly Model.SecondaryView[]
}

/** The hooks of a primary: admits secondaries, issues their data keys, and decides which data each may receive. */
export class PrimaryRole implements Model.PrimaryHooks {
  readonly #options: PrimaryRoleOptions

  constructor(options: PrimaryRoleOptions) {
    this.#options = options
  }

  who(): Model.PeerIdentity {
    const { clusterId, reportedVersion, apiAddress } = this.#options.host.identity
    const record = this.#record()
    return {
      setId: record.setId,
      clusterId,
      version: reportedVersion,
      epochs: record.epochs,
      apiAddress,
      clusterAddresses: this.#ownAddresses(record),
      isPrimary: true,
    }
  }

  admit({ method, commonName, who }: Parameters<Model.PrimaryHooks['admit']>[0]): Model.Admission {
    const { host, kind } = this.#options
    const record = this.#options.roles.record(kind)
    if (record.mode !== 'primary' || this.#options.roles.isLeaving || !host.isLeading()) {
      return refused('unavailable', 'this cluster is not a primary')
    }
    const row = record.registrations.find((candidate) => candidate.commonName === commonName)
    if (!row) return refused('revoked', 'this certificate is not registered; it needs a new activation token')
    if (who.setId !== record.setId) return refused('set', 'this primary belongs to another replication set')
    const objection = this.#objectionTo(row, method, who)
    if (objection) return objection
    if (!host.settings.allowOlderSecondary) {
      const text = findVersionObjection(who.version, host.identity.reportedVersion)
      if (text !== undefined) return refused('version', text)
    }
    if (method === 'StreamWals' || method === 'Echo') this.#remember(row, who)
    return { ok: true, secondaryId: row.id }
  }

  #objectionTo(row: Registration, method: Model.RpcMethod, who: Model.PeerIdentity): Model.Admission | undefined {
    const { fences, kind } = this.#options
    if (method !== 'Bootstrap' && fences.isBelow(who.ended)) {
      this.#background(fences.goBeyond(who.ended))
      return refused('unavailable', 'this primary begins a new epoch, because another epoch has ended')
    }
    fences.meet(kind, who)
    const fence = fences.of(kind)
    // A newer primary may call with an activation token of this cluster. The operator has then decided that the newer
    // primary gives up its role.
    const isYielding = method === 'Bootstrap' && fence && hasEnded(fence.by?.epochs ?? [], who.ended)
    if (fence && !isYielding) return fences.refusal(fence)
    if (row.state === 'issued') {
      if (method !== 'Bootstrap') return refused('revoked', 'this certificate was not activated')
      return row.expiresAtMs > this.#options.host.clock.now()
        ? undefined
        : refused('revoked', 'the activation token has expired')
    }
    if (method === 'Bootstrap') return refused('revoked', ALREADY_USED)
    const isSame = row.clusterId === who.clusterId
    const incarnation = who.incarnation ?? 0
    if (incarnation < row.incarnation || (incarnation === row.incarnation && !isSame)) {
      return refused('superseded', `another cluster has replaced secondary "${row.id}"`)
    }
    return undefined
  }

  primaryAddresses(): readonly string[] {
    const own = this.#ownAddresses(this.#record())
    if (this.#options.kind === 'dr') return own
    const others = this.#options.standbys().flatMap((view) => view.clusterAddresses)
    return [...new Set([...own, ...others.map(withScheme)])]
  }

  async bootstrap(
    { secondaryId, commonName }: { readonly secondaryId: string; readonly commonName: string },
    who: Model.PeerIdentity,
    wantsDevRoot: boolean,
  ): Promise<Model.BootstrapPackage> {
    const { roles, kind, host, services, fences } = this.#options
    let isTaken = false
    const seen = { ...addressesOf(who), clusterId: who.clusterId, lastSeenMs: host.clock.now() }
    await roles.updatePrimary(kind, (record) =>
      changeRegistration(record, secondaryId, (row) => {
        // Only one call per token succeeds, even if the same cluster repeats its call.
        isTaken = row.state === 'issued' && row.commonName === commonName
        return isTaken ? { ...row, ...seen, state: 'connected' } : row
      }),
    )
    if (!isTaken) throw refusalError('revoked', ALREADY_USED)
    await fences.goBeyond(who.ended)
    host.log.info('secondary registered', { kind, secondary: secondaryId, cluster_id: who.clusterId })
    const { rootKey, records } = host.exportKeyMaterial()
    return { rootKey, records, extra: wantsDevRoot ? offerDevRoot(services.dev, kind) : '{}' }
  }

  async forward(secondaryId: string, payload: Buffer): Promise<Buffer> {
    const { host, services, fences, kind } = this.#options
    if (kind === 'dr') throw refusalError('forbidden', 'a DR secondary cannot forward requests')
    // Other work runs between the steps, because a blocked event loop would delay keepalive responses to secondaries.
    await yieldToEventLoop(payload.length)
    const request = { ...decodeRequest(payload), visibility: this.#visibilityOf(secondaryId) }
    await yieldToEventLoop(payload.length)
    try {
      const response = await services.executeForwarded(request)
      const fence = fences.of(kind)
      if (fence) throw refusalError('epoch', `${fences.refusal(fence).text}: outcome unknown`, { overtaker: fence.by })
      return encodeAnswer({ index: host.store.lastReplicatedIndex, response })
    } catch (error) {
      if (!(error instanceof LogicalError) || error.code === 'read-only' || refusalCodeOf(error)) throw error
      return encodeFailure(host.store.lastReplicatedIndex, error)
    }
  }

  /**
   * Returns the visibility rules of a secondary. They evaluate the filter at each call, because it may change
   * meanwhile.
   */
  #visibilityOf(secondaryId: string): Visibility {
    const { filters } = this.#options
    const filter = () => filters.compiled(filterIdOf(this.#record(), secondaryId, filters))
    return {
      isFiltered: (uuid) => filter()?.filteredMounts.has(uuid) ?? false,
      hidesNamespace: (path) => filter()?.hiddenNamespaces.has(path) ?? false,
    }
  }

  filterFor(secondaryId: string): Model.KeyFilter | undefined {
    const { kind, filters } = this.#options
    if (kind !== 'performance') return undefined
    const record = this.#record()
    const id = filterIdOf(record, secondaryId, filters)
    const compiled = filters.compiled(id)
    const { record: rule } = filters.known(id)
    return compiled && rule && { fingerprint: compiled.fingerprint, rule, shows: (key) => !compiled.isFiltered(key) }
  }

  #record(): PrimaryRecord {
    const record = this.#options.roles.record(this.#options.kind)
    if (record.mode !== 'primary') throw refusalError('unavailable', 'this cluster is not a primary')
    return record
  }

  /** Returns the addresses of this cluster, active node first, even if tokens contain another address. */
  #ownAddresses({ primaryClusterAddr }: PrimaryRecord): readonly string[] {
    const { identity, settings } = this.#options.host
    if (!settings.hasSeveralNodes) return [withScheme(primaryClusterAddr || identity.clusterAddress)]
    const all = [...identity.clusterAddresses, primaryClusterAddr].filter((address) => address !== '')
    return [...new Set(all.map(withScheme))]
  }

  /**
   * Stores the addresses of a secondary for the time when it is disconnected. Also stores its cluster ID and
   * incarnation. If two clusters use the same secondary ID, these fields identify the valid cluster.
   */
  #remember(row: Registration, who: Model.PeerIdentity): void {
    const { roles, kind, host } = this.#options
    const known = addressesOf(who)
    const incarnation = who.incarnation ?? 0
    const isKnown =
      row.apiAddress === known.apiAddress &&
      row.clusterAddress === known.clusterAddress &&
      row.clusterId === who.clusterId &&
      row.incarnation === incarnation
    if (isKnown) return
    const next = { ...known, clusterId: who.clusterId, incarnation, lastSeenMs: host.clock.now() }
    this.#background(
      roles.updatePrimary(kind, (record) => changeRegistration(record, row.id, (latest) => ({ ...latest, ...next }))),
    )
  }

  #background(work: Promise<void>): void {
    work.catch((error: unknown) =>
      this.#options.host.log.error('cannot store the replication record of this primary', { error: String(error) }),
    )
  }
}

/**
 * The error of every further call with the same token, even from the cluster that used it: the bootstrap package is
 * sent only once.
 */
const ALREADY_USED = 'the activation token was already used: revoke the ID of the secondary and issue a new token'

type Refused = Extract<Model.Admission, { ok: false }>

const refused = (code: Refused['code'], text: string): Refused => ({ ok: false, code, text })

const addressesOf = (who: Model.PeerIdentity): Pick<Registration, 'apiAddress' | 'clusterAddress'> => ({
  apiAddress: who.apiAddress,
  clusterAddress: who.clusterAddresses[0] ?? '',
})

const changeRegistration = (
  record: PrimaryRecord,
  id: string,
  change: (row: Registration) => Registration,
): PrimaryRecord => ({
  ...record,
  registrations: record.registrations.map((row) => (row.id === id ? change(row) : row)),
})

/**
 * Returns the ID under which the filter of a secondary is stored: its secondary ID, or its cluster ID if the filter was
 * set before the cluster registered.
 */
export const filterIdOf = (record: PrimaryRecord, secondaryId: string, filters: Pick<FilterStore, 'find'>): string => {
  if (filters.find(secondaryId)) return secondaryId
  const clusterId = record.registrations.find((row) => row.id === secondaryId)?.clusterId ?? ''
  return clusterId !== '' && filters.find(clusterId) ? clusterId : secondaryId
}
