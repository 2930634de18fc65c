import { parseServerFlags } from './flags.js'
import type { Environment } from './environment.js'
import { type LoadedConfig, loadConfig } from './load-config.js'
import type { NetworkAddress } from './network-addresses.js'

/**
 * Reads flags, environment and files; see `loadConfig`. `addresses` returns those of this machine. A separate module, so
 * that commands that only show settings do not load the server.
 */
export const loadServerConfig = (
  args: readonly string[],
  env: Environment,
  addresses?: () => readonly NetworkAddress[],
): LoadedConfig => {
  const parsed = parseServerFlags(args)
  if (parsed.ok) return loadConfig({ flags: parsed.flags, env }, addresses)
  return {
    config: undefined,
    problems: parsed.problems.map((text) => ({ origin: 'command line', text })),
    warnings: [],
    settings: [],
  }
}
