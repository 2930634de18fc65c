import type { Environment } from './environment.js'
import type { ExpandAddress } from './expand-addresses.js'
import type { FileSettings } from './file.js'
import type { ServerFlags } from './flags.js'
import type { NetworkAddress } from './network-addresses.js'
import type { ResolvedSettings } from './resolved-settings.js'
import type { Findings } from './tree.js'

/** The sources of all settings, and the collectors for resolved settings and problems. */
export interface ConfigSources {
  readonly flags: ServerFlags
  readonly env: Environment
  readonly files: FileSettings
  readonly settled: ResolvedSettings
  readonly findings: Findings
  /** Returns the addresses of this machine. */
  readonly addresses: () => readonly NetworkAddress[]
  readonly expand: ExpandAddress
}
