import { read } from './run.js'

/** Returns the version of the Docker engine, or undefined without a client, an engine, or permission. */
export const findEngine = (): string | undefined => read('docker', ['version', '--format', '{{.Server.Version}}'])

/** Returns the command of compose, preferably the plugin, or undefined if neither is installed. */
export const findCompose = (): readonly [string, ...string[]] | undefined => {
  if (read('docker', ['compose', 'version']) !== undefined) return ['docker', 'compose']
  return read('docker-compose', ['version']) === undefined ? undefined : ['docker-compose']
}
