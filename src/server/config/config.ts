import type { LogLevel } from '../../base/log.js'
import type { LockoutSettings } from '../../logical/lockout-settings.js'
import type { Withheld } from '../../logical/request.js'

/**
 * The parsed configuration of one server: everything coerced, defaulted and checked, so that nothing behind this type asks
 * about text again. Times in milliseconds unless the name says otherwise.
 */
export interface ServerConfig {
  readonly listeners: readonly ListenerConfig[]
  readonly storage: StorageConfig
  readonly seal: SealConfig
  /** The API address as clients should use it, with scheme; empty when not configured. */
  readonly apiAddress: string
  /** The address of the cluster port that secondaries are told, `https://host:port`. */
  readonly clusterAddress: string
  /** Where the cluster port is bound, host:port. */
  readonly clusterBindAddress: string
  readonly clusterName: string
  /** Shown and nothing more: replication goes on. */
  readonly disableClustering: boolean
  /** Whether this node, while it is not the active one, answers reads from its own copy. */
  readonly isPerformanceStandby: boolean
  /** Whether each answer names the machine, or the node with storage "raft". */
  readonly responseHeaders: { readonly hasHostname: boolean; readonly hasNodeId: boolean }
  /** Whether it serves a page for browsers at `/ui/`. */
  readonly hasPage: boolean
  readonly defaultLeaseTtlSeconds: number
  readonly maxLeaseTtlSeconds: number
  readonly log: LogConfig
  readonly pidFile: string
  readonly dev: DevConfig | undefined
  readonly unauthenticatedMetrics: boolean
  /** Undefined: off, unless a mount is tuned to have it. */
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
  /** The namespace below which its requests are made, normalized; empty for the root namespace. */
  readonly chrootNamespace: string
  /** What answers of the listener do not tell. */
  readonly withheld: readonly Withheld[]
}

export type ProxyProtocolBehavior = 'use_always' | 'allow_authorized' | 'deny_unauthorized'

export interface ProxyProtocolConfig {
  readonly behavior: ProxyProtocolBehavior
  /** Not empty, except with `use_always`, which does not use them. */
  readonly authorizedAddresses: readonly string[]
}

export interface ListenerTls {
  readonly certFile: string
  readonly keyFile: string
  readonly clientCaFile: string
  readonly requireClientCert: boolean
  readonly disableClientCerts: boolean
  readonly minVersion: string
  /** Empty: the newest. */
  readonly maxVersion?: string
  /** As OpenSSL has them; empty: its own choice. */
  readonly ciphers?: string
}

export interface StorageConfig {
  /** As configured and as seal-status shows it. */
  readonly label: string
  /** Undefined: in memory. */
  readonly path: string | undefined
  readonly nodeId: string
  /** Where the data lies, with `path` as that of a copy of it; undefined for every other label. */
  readonly etcd?: EtcdStorageConfig
  /** The nodes that are tried in turn while this one has no cluster. */
  readonly retryJoin?: readonly RetryJoin[]
}

/** Another node, by its API. Texts are empty where nothing was given; a file is read when it is needed. */
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

/** An etcd of one or more members. Texts are empty where nothing was given. */
export interface EtcdStorageConfig {
  /** `host:port` of each. */
  readonly addresses: readonly string[]
  readonly isTls: boolean
  /** Begins and ends with a slash. */
  readonly prefix: string
  /** Whether other servers may be nodes of this cluster. */
  readonly isHaEnabled: boolean
  readonly login: { readonly name: string; readonly password: string } | undefined
  readonly tls: { readonly caFile: string; readonly certFile: string; readonly keyFile: string }
  readonly requestTimeoutMs: number
}

/** The transit key of another cluster that wraps the root key. Texts are empty where nothing was given. */
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
      /** As seal-status shows it: `static`, or the name of a simulated seal. */
      readonly name: string
      readonly keyId: string
      /** 32 bytes; undefined for a simulated seal, whose key lies beside the data. */
      readonly key: Buffer | undefined
      readonly previous: { readonly keyId: string; readonly key: Buffer } | undefined
    }

export interface LogConfig {
  readonly level: LogLevel
  /** Undefined when nobody asked for one: text for who reads it on a terminal, JSON for everything else. */
  readonly format: 'standard' | 'json' | undefined
  readonly file: string
}

/** The methods that lock users out. */
export const LOCKABLE_METHODS = ['approle', 'userpass'] as const
export type LockableMethod = (typeof LOCKABLE_METHODS)[number]

export interface DevConfig {
  /** Empty: a random one. */
  readonly rootTokenId: string
  readonly kvVersion: '1' | '2' | undefined
  readonly nodes: 1 | 3
  /** Certificates are made at the start, for this machine and `extraHosts`; an empty directory is a temporary one. */
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
  /** How long a node leads that cannot say any more that it does. */
  readonly leaderLeaseMs: number
  /** Of the copy of what lies in a shared storage; empty: a temporary one. */
  readonly dataDir: string
  /** Of the program that nodes with storage "raft" share their log in; empty: looked for in PATH. */
  readonly etcdPath: string
  /** `host:port` where other nodes reach it; empty: one port above the cluster address. */
  readonly etcdPeerAddress: string
  readonly demoteDrainTimeoutMs: number
  readonly fenceClientWrites: boolean
  readonly allowOlderSecondary: boolean
  readonly syncWrites: boolean
  readonly approleTidyIntervalMs: number
  /** Where the server writes the addresses it listens on; empty for nowhere. */
  readonly addressFile: string
  readonly labApi: boolean
  readonly labApiToken: string
  /** The address of another cluster -> the one dialled in its place, both `host:port`: a lab's links stand there. */
  readonly dialRoutes: ReadonlyMap<string, string>
  readonly simulateSeals: boolean
  readonly allowGenerateRootUnauthenticated: boolean
}

/**
 * Below 1.21 with `+ent`: from there on clients also send, read and test fields that this server does not have
 * (docs/compatibility.md).
 */
export const DEFAULT_REPORTED_VERSION = '1.20.4+ent'
