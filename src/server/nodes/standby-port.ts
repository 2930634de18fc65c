import type { Log } from '../../base/log.js'
import { standbyRefusal } from '../../replication/rpc/active-node.js'
import { refusingService } from '../../replication/rpc/refusing-service.js'
import type { ClusterPort } from '../../replication/rpc/transport.js'
import { serverIdentityOf } from '../../replication/credentials/ca.js'
import { isDormant } from '../../replication/model/machine.js'
import { KINDS } from '../../replication/roles/role-records.js'
import { readRecord, stageOf } from '../../replication/model/state.js'
import type { ServerIdentity } from '../../replication/model/types.js'
import type { LeaderRecord } from '../../storage/commit-log/shared-log.js'
import type { Runtime } from '../runtime/runtime.js'

interface StandbyPortOptions {
  readonly port: ClusterPort
  /** Returns the following runtime; undefined if this node is not a standby: it does not respond then. */
  readonly following: () => Pick<Runtime, 'store' | 'barrier'> | undefined
  readonly activeNode: () => LeaderRecord | undefined
  readonly log: Log
}

/** The cluster port of a standby for secondaries of its cluster: callers are redirected to the active node. */
export class StandbyPort {
  readonly #options: StandbyPortOptions
  #served: readonly string[] = []
  #followed: { readonly store: Runtime['store']; readonly end: () => void } | undefined

  constructor(options: StandbyPortOptions) {
    this.#options = options
  }

  /** Updates the served identities. Call it when the node becomes a standby or stops being one. */
  update(): void {
    const store = this.#options.following()?.store
    if (store === this.#followed?.store) return
    this.#followed?.end()
    this.#followed = store && { store, end: store.onChange({ roles: () => this.#serve() }) }
    this.#serve()
  }

  #serve(): void {
    const { port, activeNode } = this.#options
    const identities = this.#findIdentities()
    if (!identities) return
    const names = identities.map(({ serverName }) => serverName)
    for (const name of this.#served) if (!names.includes(name)) port.withdraw(name)
    const service = refusingService(() => standbyRefusal(activeNode()))
    for (const identity of identities) if (!this.#served.includes(identity.serverName)) port.serve(identity, service)
    this.#served = names
  }

  /** Returns undefined if the storage cannot be read, as during shutdown: the current identities stay. */
  #findIdentities(): readonly ServerIdentity[] | undefined {
    try {
      return this.#identities()
    } catch (error) {
      this.#options.log.warn('the authorities of the cluster could not be read', { error })
      return undefined
    }
  }

  /**
   * Returns the identities that the active node presents to its secondaries, without those that a DR secondary keeps for a
   * later role.
   */
  #identities(): readonly ServerIdentity[] {
    const { barrier } = this.#options.following() ?? {}
    if (!barrier || barrier.isSealed) return []
    const storage = barrier.view('')
    const records = { dr: readRecord(storage, 'dr'), performance: readRecord(storage, 'performance') }
    const stages = { dr: stageOf(records.dr), performance: stageOf(records.performance) }
    return KINDS.flatMap((kind) => {
      const record = records[kind]
      return record.mode === 'primary' && !isDormant(kind, { stages }) ? [serverIdentityOf(record.ca)] : []
    })
  }
}
