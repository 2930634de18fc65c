import type { ProcessIdentity } from './process-table.js'
import type { Route } from './routes.js'

/** A single-member etcd of a lab. */
export interface LabEtcdPlan {
  /** The path of the program. */
  readonly program: string
  readonly dataDir: string
  readonly logFile: string
  /** Client and peer port on 127.0.0.1. */
  readonly ports: readonly [number, number]
}

/** How commands reach a lab daemon. */
export interface LabDaemonAccess {
  /** Address of the control API: the path of a socket file, or the `http:` URL of a daemon in a container. */
  readonly socket: string
  /** Port of the Toxiproxy API on this machine. Absent or null: disabled. */
  readonly toxiproxyPort?: number | null
}

/** The background process of a lab, which runs its link proxies; see `daemon/`. */
export interface LabDaemonRecord extends LabDaemonAccess {
  readonly configFile: string
  readonly logFile: string
  readonly routes: readonly Route[]
  readonly process: ProcessIdentity | null
}

/** The environment variable with the configuration of a lab daemon in a container. */
export const DAEMON_VARIABLE = 'UNDERSTUDY_LAB_DAEMON'
