import { rmSync, writeFileSync } from 'node:fs'
import { createPinoLog, fileSink, type PinoLog, streamSink } from '../../base/pino-log.js'
import { describeServer, StartFailure, startServerFrom } from '../../server/start.js'
import type { Server } from '../../server/server.js'
import type { ServerConfig } from '../../server/config.js'
import { loadServerConfig } from '../../server/server-config.js'
import { EXIT } from '../exit-codes.js'
import type { Output } from '../output.js'

/** Exit status when a port or the data directory is taken. */
const TAKEN = 5

/** `understudy server`: runs until it is told to stop. Resolves to the exit status. */
export const runServer = async (args: readonly string[], output: Output): Promise<number> => {
  const loaded = loadServerConfig(args, process.env)
  for (const { origin, text } of loaded.warnings) output.complain(`warning: ${origin}: ${text}`)
  if (!loaded.config) {
    output.complain('the configuration cannot be used:')
    for (const { origin, text } of loaded.problems) output.complain(`  ${origin}: ${text}`)
    return EXIT.usage
  }
  const { config } = loaded
  const log = openLog(config)
  const server = await startServerFrom(config, log).catch((error: unknown) => error)
  if (!isServer(server)) {
    const failure = server instanceof StartFailure ? server : undefined
    output.complain(`the server could not start: ${server instanceof Error ? server.message : String(server)}`)
    return failure?.reason === 'taken' ? TAKEN : EXIT.usage
  }
  for (const line of describeServer(server, config)) output.data(line)
  output.data('\n==> Vault server started! Log data will stream in below:\n')
  if (config.pidFile !== '') writeFileSync(config.pidFile, `${process.pid}\n`)
  await serveUntilStopped(server, log)
  if (config.pidFile !== '') rmSync(config.pidFile, { force: true })
  return EXIT.ok
}

const isServer = (value: unknown): value is Server => value instanceof Object && 'addresses' in value

const openLog = (config: ServerConfig): PinoLog =>
  createPinoLog({
    level: config.log.level,
    format: config.log.format,
    sink: config.log.file === '' ? streamSink(process.stderr) : fileSink(config.log.file),
  })

/** SIGTERM and SIGINT drain, a second one ends at once; SIGHUP reads files anew. */
const serveUntilStopped = (server: Server, log: PinoLog): Promise<void> =>
  new Promise((resolve) => {
    let isStopping = false
    const stop = (signal: NodeJS.Signals) => {
      if (isStopping) process.exit(EXIT.ok)
      isStopping = true
      log.info('the server stops', { signal })
      server.close().then(
        () => {
          resolve()
          // Standard output may be a pipe that nobody reads: nothing may wait for it.
          process.exit(EXIT.ok)
        },
        (error: unknown) => {
          log.error('the server did not stop cleanly', { error })
          process.exit(EXIT.usage)
        },
      )
    }
    process.on('SIGTERM', stop)
    process.on('SIGINT', stop)
    process.on('SIGHUP', () => {
      server.reload().catch((error: unknown) => log.error('files could not be read anew', { error }))
    })
  })
