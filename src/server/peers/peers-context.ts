import { LogicalError } from '../../logical/errors.js'
import type { Storage } from '../../logical/storage.js'
import type { ClusterTransport } from '../../replication/rpc/transport.js'
import type { SharedLog } from '../../storage/shared-log/shared-log.js'
import type { NodeMembership } from '../parts/parts.js'
import type { RuntimeHost } from '../runtime/runtime-host.js'
import type { Runtime } from '../runtime/runtime.js'
import type { PeersOptions } from './membership.js'
import type { EtcdProcess } from './etcd-process.js'

/** The objects of the server that `Peers` uses. */
export interface PeersHost {
  readonly host: Pick<
    RuntimeHost,
    'membership' | 'requireRuntime' | 'pauseWrites' | 'resumeWrites' | 'moveData' | 'autoUnseal' | 'admission'
  >
  readonly transport: ClusterTransport
  /** Makes the server stop serving requests permanently. */
  beRemoved(): void
  /** Makes the server a node of the cluster that uses this log. */
  becomeNode(sharedLog: SharedLog): void
}

/** The state that the classes in this directory share: the server, its etcd process and the stop signal. */
export class PeersContext {
  readonly options: PeersOptions
  /** Called when the other nodes have permanently removed this node. */
  readonly onRemoved: () => void
  readonly #stop = new AbortController()
  /** The etcd process of this server; undefined while the storage has no other nodes. */
  etcd: EtcdProcess | undefined
  /** The server; undefined until it is assembled. */
  known: PeersHost | undefined

  constructor(options: PeersOptions, onRemoved: () => void) {
    this.options = options
    this.onRemoved = onRemoved
  }

  get signal(): AbortSignal {
    return this.#stop.signal
  }

  stop(): void {
    this.#stop.abort(new LogicalError('unavailable', 'the server is stopping'))
  }

  /** The server. Throws LogicalError 503 while the server is starting. */
  get server(): PeersHost {
    if (!this.known) throw new LogicalError('unavailable', 'the server is starting')
    return this.known
  }

  get node(): NodeMembership | undefined {
    return this.known?.host.membership
  }

  get isActive(): boolean {
    return this.node?.isServing === true
  }

  /** The runtime of the server. Throws LogicalError 503 while there is none. */
  get runtime(): Runtime {
    return this.server.host.requireRuntime()
  }

  get storage(): Storage {
    return this.runtime.barrier.view('')
  }
}
