import { readdirSync } from 'node:fs'
import { CONFIG_DIRECTORY, type LaunchFacts } from './launch.js'

/** Reads the settings of this container besides its command line. */
export const readLaunchFacts = (env: NodeJS.ProcessEnv): LaunchFacts => ({
  hasConfigFiles: filesOf(CONFIG_DIRECTORY).some((name) => /\.(hcl|json)$/.test(name)),
  devRootTokenId: env.VAULT_DEV_ROOT_TOKEN_ID,
  devListenAddress: env.VAULT_DEV_LISTEN_ADDRESS,
})

const filesOf = (directory: string): string[] => {
  try {
    return readdirSync(directory)
  } catch {
    return []
  }
}
