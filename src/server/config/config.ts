import type { LogLevel } from '../../base/log.js'
import type { LockoutSettings } from '../../logical/lockout.js'
import type { Withheld } from '../../logical/request.js'
import type { ForwardedForSettings } from '../../http/connection/client-address.js'
import type { ProxyProtocolSettings } from '../../http/connection/proxied-connections.js'
import type { TlsSettings } from '../../http/connection/tls.js'
import type { HttpLimits } from '../../http/http-server.js'
import type { Addresses } from './addresses.js'
import type { SealConfig } from './seal.js'
import type { StorageConfig } from './storage.js'
import type { OWN_KEYS, OwnKey } from './tables.js'
import type { KindValue } from './values.js'

/**
 * The parsed configuration of one server: coerced, with defaults and validated, so that users of this type never parse text.
 * Times in milliseconds unless the name states another unit.
 */
export interface ServerConfig extends Addresses {
  readonly listeners: readonly ListenerConfig[]
  readonly storage: StorageConfig
  readonly seal: SealConfig
  readonly clusterName: string
  /** The server only reports this value: replication works in either case. */
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
  /** Undefined: user lockout is off, unless the tune settings of a mount enable it. */
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

/** The files are read at startup and on reload. An empty path means that there is no file. */
export interface ListenerTls extends Pick<TlsSettings, 'minVersion' | 'maxVersion' | 'ciphers'> {
  readonly certFile: string
  readonly keyFile: string
  readonly clientCaFile: string
  readonly requireClientCert: boolean
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

/** The keys of `OWN_KEYS` that have a default. The table alone is enough to resolve them. */
export type OwnRow = {
  readonly [Key in OwnKey]: (typeof OWN_KEYS)[Key] extends { fallback: unknown } ? Key : never
}[OwnKey]

type OwnKind<Key extends OwnRow> = (typeof OWN_KEYS)[Key]['kind']

/**
 * Understudy's own settings, with names in camel case. Durations are in milliseconds and end in `Ms`: the value of
 * `heartbeat_interval` is `heartbeatIntervalMs`. `OWN_KEYS` describes the settings.
 */
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
