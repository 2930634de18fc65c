import type { ReplicationMode } from '../core/cluster-status.js'
import type { MountEntry } from '../core/mount-entry.js'
import type { RequestForwarder } from '../core/request-handler.js'
import type { PathSpec } from '../logical/backend.js'
import { LogicalError } from '../logical/errors.js'
import type { Request, Response } from '../logical/request.js'
import type { ReplicationTimes } from '../replication/types.js'
import type { ServerConfig } from './config.js'
import type { CoreServices } from './core-services.js'
import type { OpenClusterOptions } from './open-cluster.js'

export interface ReplicationParts {
  readonly modes: { readonly dr: ReplicationMode; readonly performance: ReplicationMode }
  readonly isDrSecondary: boolean
  readonly isSharedReadOnly: boolean
  isHeldBack(entry: MountEntry): boolean
  readonly forwarder: RequestForwarder
  readonly paths: readonly PathSpec[]
  readonly unauthenticated: readonly string[]
  readonly sudo: readonly string[]
  readonly drAllowed: readonly string[]
  readonly primaryTimes: { readonly echoDurationMs: number; readonly clockSkewMs: number; readonly canaryAgeMs: number }
  limitWrites(): void
  followChanges(keys: readonly string[]): void
  start(): void
  stop(): Promise<void>
}

export const replicationTimes = ({ own }: ServerConfig): ReplicationTimes => ({
  heartbeatIntervalMs: own.heartbeatIntervalMs,
  keepaliveTimeMs: own.keepaliveTimeMs,
  keepaliveTimeoutMs: own.keepaliveTimeoutMs,
  backoffInitialMs: own.backoffInitialMs,
  backoffMaxMs: own.backoffMaxMs,
  connectTimeoutMs: own.pingTimeoutMs,
  bootstrapTimeoutMs: own.bootstrapTimeoutMs,
  forwardingTimeoutMs: own.forwardingTimeoutMs,
  pingTimeoutMs: own.pingTimeoutMs,
})

export const createReplication = (
  _options: OpenClusterOptions & { services: CoreServices; execute: (request: Request) => Promise<Response | undefined> },
): ReplicationParts => ({
  modes: { dr: 'disabled', performance: 'disabled' },
  isDrSecondary: false,
  isSharedReadOnly: false,
  isHeldBack: () => false,
  forwarder: {
    forward: () => Promise.reject(new LogicalError('unavailable', 'primary cluster is unreachable')),
  },
  paths: [],
  unauthenticated: [],
  sudo: [],
  drAllowed: [],
  primaryTimes: { echoDurationMs: 0, clockSkewMs: 0, canaryAgeMs: 0 },
  limitWrites() {},
  followChanges() {},
  start() {},
  stop: () => Promise.resolve(),
})
