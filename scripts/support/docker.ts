import { read } from './run.js'

/** Version of the engine that answers, or undefined: no client, no engine, no right to use it. */
export const findEngine = (): string | undefined => read('docker', ['version', '--format', '{{.Server.Version}}'])

export const hasImage = (name: string): boolean => read('docker', ['image', 'inspect', name]) !== undefined

/** The command of whichever compose is there, the plugin first; undefined where there is none. */
export const findCompose = (): readonly [string, ...string[]] | undefined => {
  if (read('docker', ['compose', 'version']) !== undefined) return ['docker', 'compose']
  return read('docker-compose', ['version']) === undefined ? undefined : ['docker-compose']
}
