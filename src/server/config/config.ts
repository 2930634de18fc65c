import type { LogLevel } from '../../base/log-control.js'
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
 * The validated configuration of one server, with defaults. Times are in milliseconds unless the name of a field states
 * another unit.
 */
export interface ServerConfig extends Addresses {
  readonly listeners: readonly ListenerConfig[]
  readonly storage: StorageConfig
  readonly seal: SealConfig
  readonly clusterName: string
  /** The server only reports this value. Replication works regardless of it. */
  readonly disableClustering: boolean
  /** True if this node serves reads from its own copy while it is a standby. */
  readonly isPerformanceStandby: boolean
  /** Whether each response has a header with the host name, or with the node ID (only with storage `raft`). */
  readonly responseHeaders: { readonly hasHostname: boolean; readonly hasNodeId: boolean }
  readonly hasPage: boolean
  readonly defaultLeaseTtlSeconds: number
  readonly maxLeaseTtlSeconds: number
  readonly log: LogConfig
  readonly pidFile: string
  readonly dev: DevConfig | undefined
  readonly unauthenticatedMetrics: boolean
  /** By auth method. If undefined, user lockout is off unless the tune settings of a mount enable it. */
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
  /** If undefined, the listener ignores `X-Forwarded-For`. */
  readonly forwardedFor: ForwardedForSettings | undefined
  /** If undefined, the listener reads no PROXY protocol headers. */
  readonly proxyProtocol: ProxyProtocolSettings | undefined
  /** Path of the namespace in which all requests of the listener run, normalized; empty for the root namespace. */
  readonly chrootNamespace: string
  /** The kinds of information that responses of this listener omit. */
  readonly withheld: readonly Withheld[]
}

/** Paths of the TLS files, which are read at startup and on reload. An empty path means that there is no file. */
export interface ListenerTls extends Pick<TlsSettings, 'minVersion' | 'maxVersion' | 'ciphers'> {
  readonly certFile: string
  readonly keyFile: string
  readonly clientCaFile: string
  readonly requireClientCert: boolean
  readonly disableClientCerts?: boolean
}

export interface LogConfig {
  readonly level: LogLevel
  /** Format of the log (default: `standard` on a terminal, otherwise `json`). */
  readonly format: 'standard' | 'json' | undefined
  readonly file: string
}

export type LockableMethod = 'approle' | 'userpass'

export interface DevConfig {
  /** The root token; empty for a random one. */
  readonly rootTokenId: string
  readonly kvVersion: '1' | '2' | undefined
  readonly nodes: 1 | 3
  /**
   * Creates certificates for this machine and `extraHosts` at startup. If `directory` is empty, they are in a temporary
   * directory.
   */
  readonly tls: { readonly directory: string; readonly extraHosts: readonly string[] } | undefined
}

type Camel<Text extends string> = Text extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<Camel<Rest>>}`
  : Text

/** The keys of `OWN_KEYS` that have a default. */
export type OwnRow = {
  readonly [Key in OwnKey]: (typeof OWN_KEYS)[Key] extends { fallback: unknown } ? Key : never
}[OwnKey]

type OwnKind<Key extends OwnRow> = (typeof OWN_KEYS)[Key]['kind']

/**
 * Understudy's own settings. Names are in camel case. Durations are in milliseconds, and their names end in `Ms`: for
 * example, `heartbeat_interval` becomes `heartbeatIntervalMs`. `OWN_KEYS` describes the settings.
 */
export type OwnValues = {
  readonly [Key in OwnRow as `${Camel<Key>}${OwnKind<Key> extends 'duration' ? 'Ms' : ''}`]: KindValue[OwnKind<Key>]
}

export interface OwnSettings extends Omit<OwnValues, 'license' | 'dialRoutes'> {
  readonly license: 'enterprise' | 'plus' | 'none'
  /**
   * Maps the address of another cluster to the address that is dialed instead (both `host:port`). A lab uses this to
   * route traffic through its links.
   */
  readonly dialRoutes: ReadonlyMap<string, string>
}
