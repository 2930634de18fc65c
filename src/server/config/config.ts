import type { LogLevel } from '../../base/log.js'
import type { LockoutSettings } from '../../logical/lockout-settings.js'
import type { Withheld } from '../../logical/request.js'
import type { ForwardedForSettings } from '../../http/connection/client-address.js'
import type { ProxyProtocolSettings } from '../../http/connection/proxied-connections.js'
import type { TlsSettings } from '../../http/connection/tls.js'
import type { HttpLimits } from '../../http/http-server.js'
import type { OWN_KEYS, OwnKey } from './tables.js'
import type { KindValue } from './values.js'

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
  readonly clusterBindAddress: string
  readonly clusterName: string
  /** Only reported: replication continues. */
  readonly disableClustering: boolean
  /** Whether this node answers reads from its own copy while it is not active. */
  readonly isPerformanceStandby: boolean
  /** Whether each response contains the host name, or the node ID with storage "raft". */
  readonly responseHeaders: { readonly hasHostname: boolean; readonly hasNodeId: boolean }
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
  readonly limits: HttpLimits
  /** Undefined: the listener trusts no proxy. */
  readonly forwardedFor: ForwardedForSettings | undefined
  /** Undefined: the listener reads no PROXY protocol headers. */
  readonly proxyProtocol: ProxyProtocolSettings | undefined
  /** The namespace below which its requests run, normalized; empty for the root namespace. */
  readonly chrootNamespace: string
  /** Information that responses of the listener omit. */
  readonly withheld: readonly Withheld[]
}

/** The files are read at startup and on reload. An empty one is not used. */
export interface ListenerTls extends Pick<TlsSettings, 'minVersion' | 'maxVersion' | 'ciphers'> {
  readonly certFile: string
  readonly keyFile: string
  readonly clientCaFile: string
  readonly requireClientCert: boolean
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

export type LockableMethod = 'approle' | 'userpass'

export interface DevConfig {
  /** Empty: a random ID. */
  readonly rootTokenId: string
  readonly kvVersion: '1' | '2' | undefined
  readonly nodes: 1 | 3
  /** Certificates are created at startup for this machine and `extraHosts`. An empty directory means a temporary one. */
  readonly tls: { readonly directory: string; readonly extraHosts: readonly string[] } | undefined
}

type Camel<Text extends string> = Text extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<Camel<Rest>>}`
  : Text

/** The rows of the table that are resolved by it alone. */
export type OwnRow = {
  readonly [Key in OwnKey]: (typeof OWN_KEYS)[Key] extends { fallback: unknown } ? Key : never
}[OwnKey]

type OwnKind<Key extends OwnRow> = (typeof OWN_KEYS)[Key]['kind']

/** Understudy's own settings: `heartbeat_interval`, a duration, is `heartbeatIntervalMs`. The table says what each means. */
export type OwnValues = {
  readonly [Key in OwnRow as `${Camel<Key>}${OwnKind<Key> extends 'duration' ? 'Ms' : ''}`]: KindValue[OwnKind<Key>]
}

export interface OwnSettings extends Omit<OwnValues, 'license' | 'dialRoutes'> {
  readonly license: 'enterprise' | 'plus' | 'none'
  /**
   * The address of another cluster -> the address to dial instead, both `host:port`. A lab routes traffic through its links
   * this way.
   */
  readonly dialRoutes: ReadonlyMap<string, string>
}
