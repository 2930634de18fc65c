import type { LogLevel } from '../../base/log.js'
import type { LockoutSettings } from '../../logical/lockout-settings.js'
import type { Withheld } from '../../logical/request.js'

/**
 * The parsed configuration of one server: coerced, with defaults and validated, so that users of this type never parse text.
 * Times in milliseconds unless the name states another unit.
 */
export interface ServerConfig {
  readonly listeners: readonly ListenerConfig[]
  readonly storage: StorageConfig
  readonly seal: SealConfig
  /** The API address announced to clients, with scheme; empty if not configured. */
  readonly apiAddress: string
  /** The address of the cluster port announced to secondaries, `https://host:port`. */
  readonly clusterAddress: string
  /** The bind address of the cluster port, host:port. */
  readonly clusterBindAddress: string
  readonly clusterName: string
  /** Only reported: replication continues. */
  readonly disableClustering: boolean
  /** Whether this node answers reads from its own copy while it is not active. */
  readonly isPerformanceStandby: boolean
  /** Whether each response contains the host name, or the node ID with storage "raft". */
  readonly responseHeaders: { readonly hasHostname: boolean; readonly hasNodeId: boolean }
  /** Whether it serves a browser page at `/ui/`. */
  readonly hasPage: boolean
  readonly defaultLeaseTtlSeconds: number
  readonly maxLeaseTtlSeconds: number
  readonly log: LogConfig
  readonly pidFile: string
  readonly dev: DevConfig | undefined
  readonly unauthenticatedMetrics: boolean
  /** Undefined: off, unless the tuning of a mount enables it. */
  readonly userLockout: Readonly<Record<LockableMethod, LockoutSettings | undefined>>
  readonly own: OwnSettings
  readonly replication: {
    readonly allowForwardingViaHeader: boolean
    readonly bestEffortWalWaitMs: number
  }
}

export interface ListenerConfig {
  readonly address: string
  readonly tls: ListenerTls | undefined
  readonly maxRequestBytes: number
  readonly maxRequestMs: number
  readonly headerReadMs: number
  readonly bodyReadMs: number
  readonly idleMs: number
  readonly forwardedFor: {
    readonly authorizedAddresses: readonly string[]
    readonly hopSkips: number
    readonly rejectNotAuthorized: boolean
    readonly rejectNotPresent: boolean
  }
  /** Undefined: the listener reads no PROXY protocol headers. */
  readonly proxyProtocol: ProxyProtocolConfig | undefined
  /** The namespace below which its requests run, normalized; empty for the root namespace. */
  readonly chrootNamespace: string
  /** Information that responses of the listener omit. */
  readonly withheld: readonly Withheld[]
}

export type ProxyProtocolBehavior = 'use_always' | 'allow_authorized' | 'deny_unauthorized'

export interface ProxyProtocolConfig {
  readonly behavior: ProxyProtocolBehavior
  /** Not empty, except with `use_always`, which ignores them. */
  readonly authorizedAddresses: readonly string[]
}

export interface ListenerTls {
  readonly certFile: string
  readonly keyFile: string
  readonly clientCaFile: string
  readonly requireClientCert: boolean
  readonly disableClientCerts: boolean
  readonly minVersion: string
  /** Empty: the latest version. */
  readonly maxVersion?: string
  /** In OpenSSL format; empty: OpenSSL's default. */
  readonly ciphers?: string
}

export interface StorageConfig {
  /** As configured, and as reported by seal-status. */
  readonly label: string
  /** Undefined: in memory. */
  readonly path: string | undefined
  readonly nodeId: string
  /** The shared storage, with `path` as the local copy; undefined for other labels. */
  readonly etcd?: EtcdStorageConfig
  /** The nodes to join, tried in turn while this server has no cluster. */
  readonly retryJoin?: readonly RetryJoin[]
}

/** The API of another node. Texts are empty if not given; files are read on use. */
export interface RetryJoin {
  readonly address: string
  readonly caFile: string
  readonly clientCertFile: string
  readonly clientKeyFile: string
  readonly caPem: string
  readonly clientCertPem: string
  readonly clientKeyPem: string
  readonly serverName: string
}

/** An etcd cluster of one or more members. Texts are empty if not given. */
export interface EtcdStorageConfig {
  /** `host:port` of each member. */
  readonly addresses: readonly string[]
  readonly isTls: boolean
  /** Begins and ends with a slash. */
  readonly prefix: string
  /** Whether other servers can be nodes of this cluster. */
  readonly isHaEnabled: boolean
  readonly login: { readonly name: string; readonly password: string } | undefined
  readonly tls: { readonly caFile: string; readonly certFile: string; readonly keyFile: string }
  readonly requestTimeoutMs: number
}

/** The transit key of another cluster that wraps the root key. Texts are empty if not given. */
export interface TransitSealConfig {
  readonly type: 'transit'
  readonly name: 'transit'
  readonly address: string
  readonly token: string
  readonly keyName: string
  readonly mountPath: string
  readonly namespace: string
  readonly disableRenewal: boolean
  readonly tls: {
    readonly caFile: string
    readonly certFile: string
    readonly keyFile: string
    readonly serverName: string
    readonly skipVerify: boolean
  }
}

export type SealConfig =
  | { readonly type: 'shamir' }
  | TransitSealConfig
  | {
      readonly type: 'auto'
      /** As reported by seal-status: `static`, or the name of a simulated seal. */
      readonly name: string
      readonly keyId: string
      /** 32 bytes; undefined for a simulated seal, whose key is stored with the data. */
      readonly key: Buffer | undefined
      readonly previous: { readonly keyId: string; readonly key: Buffer } | undefined
    }

export interface LogConfig {
  readonly level: LogLevel
  /** Undefined by default: text on a terminal, otherwise JSON. */
  readonly format: 'standard' | 'json' | undefined
  readonly file: string
}

/** The auth methods with user lockout. */
export const LOCKABLE_METHODS = ['approle', 'userpass'] as const
export type LockableMethod = (typeof LOCKABLE_METHODS)[number]

export interface DevConfig {
  /** Empty: a random ID. */
  readonly rootTokenId: string
  readonly kvVersion: '1' | '2' | undefined
  readonly nodes: 1 | 3
  /** Certificates are created at startup for this machine and `extraHosts`. An empty directory means a temporary one. */
  readonly tls: { readonly directory: string; readonly extraHosts: readonly string[] } | undefined
}

export interface OwnSettings {
  readonly reportedVersion: string
  readonly license: 'enterprise' | 'plus' | 'none'
  readonly walRetentionEntries: number
  readonly walRetentionBytes: number
  readonly shipWindowBytes: number
  readonly shipBatchBytes: number
  readonly heartbeatIntervalMs: number
  readonly keepaliveTimeMs: number
  readonly keepaliveTimeoutMs: number
  readonly backoffInitialMs: number
  readonly backoffMaxMs: number
  readonly bootstrapTimeoutMs: number
  readonly forwardingTimeoutMs: number
  readonly pingTimeoutMs: number
  readonly roleChangeWaitMs: number
  readonly stepDownRestMs: number
  /** How long a node stays leader without renewing its lease. */
  readonly leaderLeaseMs: number
  /** Directory of the local copy of a shared storage; empty: a temporary one. */
  readonly dataDir: string
  /** Path of the etcd binary in which nodes with storage "raft" share their log; empty: looked up in PATH. */
  readonly etcdPath: string
  /** `host:port` at which other nodes reach it; empty: one port above the cluster address. */
  readonly etcdPeerAddress: string
  readonly demoteDrainTimeoutMs: number
  readonly fenceClientWrites: boolean
  readonly allowOlderSecondary: boolean
  readonly syncWrites: boolean
  readonly approleTidyIntervalMs: number
  /** The file to which the server writes its listen addresses; empty: none. */
  readonly addressFile: string
  readonly labApi: boolean
  readonly labApiToken: string
  /**
   * The address of another cluster -> the address to dial instead, both `host:port`. A lab routes traffic through its links
   * this way.
   */
  readonly dialRoutes: ReadonlyMap<string, string>
  readonly simulateSeals: boolean
  readonly allowGenerateRootUnauthenticated: boolean
}

/**
 * Below 1.21 and with `+ent`: for later versions, clients also send, read and test fields that this server lacks
 * (docs/reference/compatibility.md).
 */
export const DEFAULT_REPORTED_VERSION = '1.20.4+ent'
