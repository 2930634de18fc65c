import { LogicalError } from '../../logical/errors.js'
import type { Storage } from '../../logical/storage.js'
import type { ClusterTransport } from '../../replication/rpc/transport.js'
import type { SharedLog } from '../../storage/shared-log/shared-log.js'
import type { NodeMembership } from '../parts/parts.js'
import type { RuntimeHost } from '../runtime/runtime-host.js'
import type { Runtime } from '../runtime/runtime.js'
import type { PeersOptions } from './membership.js'
import type { EtcdProcess } from './etcd-process.js'

/** The parts of the server that node management needs. */
export interface PeersHost {
  readonly host: Pick<
    RuntimeHost,
    'membership' | 'requireRuntime' | 'pauseWrites' | 'resumeWrites' | 'moveData' | 'autoUnseal' | 'admission'
  >
  readonly transport: ClusterTransport
  /** Makes the server stop serving permanently. */
  beRemoved(): void
  /** Makes the server a node of the cluster that shares this log. */
  becomeNode(sharedLog: SharedLog): void
}

/** The state that the parts of node management share: the server, its etcd member, and the stop signal. */
export class PeersContext {
  readonly options: PeersOptions
  /** Called when the other nodes have permanently removed this node. */
  readonly onRemoved: () => void
  readonly #stop = new AbortController()
  /** Undefined without other nodes. */
  etcd: EtcdProcess | undefined
  /** Undefined until the server is assembled. */
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

  /** Throws LogicalError 503 if there is no server yet. */
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

  /** Throws LogicalError 503 if there is no runtime. */
  get runtime(): Runtime {
    return this.server.host.requireRuntime()
  }

  get storage(): Storage {
    return this.runtime.barrier.view('')
  }
}
