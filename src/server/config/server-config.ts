import { parseServerFlags } from './flags.js'
import type { Environment } from './environment.js'
import { type LoadedConfig, loadConfig } from './load-config.js'

/** Reads flags, environment and files; see `loadConfig`. Apart from the server, so that asking for settings does not load it. */
export const loadServerConfig = (args: readonly string[], env: Environment): LoadedConfig => {
  const parsed = parseServerFlags(args)
  if (parsed.ok) return loadConfig(parsed.flags, env)
  return {
    config: undefined,
    problems: parsed.problems.map((text) => ({ origin: 'command line', text })),
    warnings: [],
    settings: [],
  }
}
