import { messageOf } from '../../base/printable.js'
import { chmodSync, rmSync, writeFileSync } from 'node:fs'
import { systemClock } from '../../base/clock.js'
import { keepHeapSmall } from '../../base/garbage.js'
import { createPinoLog, fileSink, type PinoLog, streamSink } from '../../base/pino-log.js'
import { addressLines, removeAddressFile, writeAddressFile } from './address-file.js'
import { prepareDevTls } from '../../server/dev/dev.js'
import { StartFailure, startServerFrom } from '../../server/start.js'
import { describeServer } from './server-banner.js'
import type { ServerConfig } from '../../server/config/config.js'
import { loadServerConfig } from '../../server/config/server-config.js'
import { endWithParent } from '../../lab/runner/end-with-parent.js'
import { type RunningServers, startDevNodes } from './dev-nodes.js'
import { EXIT } from '../terminal/exit-codes.js'
import type { Output } from '../terminal/output.js'
import type { StopSignals } from '../terminal/stop-signals.js'

/** `understudy server`: runs a server until a signal stops it. Resolves to the exit code if the server cannot start. */
export const runServer = async (args: readonly string[], output: Output, signals: StopSignals): Promise<number> => {
  keepHeapSmall()
  // LevelDB creates data files with all permissions that the umask allows. Only the owner may read them.
  process.umask(0o077)
  const loaded = loadServerConfig(args, process.env)
  for (const { origin, text } of loaded.warnings) output.complain(`warning: ${origin}: ${text}`)
  if (!loaded.config) {
    output.complain('the configuration is invalid. Correct these problems:')
    for (const { origin, text } of loaded.problems) output.complain(`  ${origin}: ${text}`)
    return EXIT.usage
  }
  const prepared = await prepareDevTls(loaded.config, systemClock).catch((error: unknown) => String(error))
  if (typeof prepared === 'string') {
    output.complain(`the certificates of -dev-tls could not be created: ${prepared}`)
    return EXIT.usage
  }
  const { config, certificates } = prepared
  const log = openLog(config)
  const cleanUp = () => {
    if (config.pidFile !== '') rmSync(config.pidFile, { force: true })
    if (certificates?.isTemporary) rmSync(certificates.directory, { recursive: true, force: true })
  }
  signals.onStop((signal) => {
    log.info('the server was stopped during startup', { signal })
    cleanUp()
    process.exit(EXIT.ok)
  })
  const start = config.dev && config.dev.nodes > 1 ? startDevNodes : startOne
  const server = await start(config, log, certificates).catch((error: unknown) => error)
  if (!isRunning(server)) {
    cleanUp()
    const failure = server instanceof StartFailure ? server : undefined
    output.complain(`the server could not start: ${messageOf(server)}`)
    return failure?.reason === 'taken' ? EXIT.conflict : EXIT.usage
  }
  for (const line of server.description) output.data(line)
  output.data('\n==> Vault server started! Log data will stream in below:\n')
  if (config.pidFile !== '') {
    writeFileSync(config.pidFile, `${process.pid}\n`)
    chmodSync(config.pidFile, 0o644)
  }
  const lines = addressLines(server.addresses, config.listeners)
  publishAddresses(config.own.addressFile, lines, log)
  signals.onHangUp(() => void reload(server, log, args))
  endWithParent()
  const status = await serveUntilStopped(server, log, signals)
  if (config.own.addressFile !== '') removeAddressFile(config.own.addressFile, lines)
  cleanUp()
  // Exits without waiting for standard output, which may be a pipe that is not read.
  process.exit(status)
}

const startOne: typeof startDevNodes = async (config, log, certificates) => {
  const server = await startServerFrom(config, log)
  return {
    addresses: server.addresses,
    description: describeServer(server, config, certificates),
    reload: () => server.reload(),
    close: () => server.close(),
  }
}

const isRunning = (value: unknown): value is RunningServers => value instanceof Object && 'addresses' in value

const openLog = (config: ServerConfig): PinoLog =>
  createPinoLog({
    level: config.log.level,
    format: config.log.format ?? (config.log.file === '' && process.stderr.isTTY ? 'standard' : 'json'),
    sink: config.log.file === '' ? streamSink(process.stderr) : fileSink(config.log.file),
  })

/** Writes the address file for other programs. The server starts even if the file cannot be written. */
const publishAddresses = (file: string, lines: readonly string[], log: PinoLog): void => {
  if (file === '') return
  try {
    writeAddressFile(file, lines)
  } catch (error) {
    log.warn('the addresses could not be written', { file, error })
  }
}

/** Reloads certificates, audit files and the log level. Logs an error for an invalid value and keeps the old one. */
const reload = async (server: RunningServers, log: PinoLog, args: readonly string[]): Promise<void> => {
  try {
    const { config, problems } = loadServerConfig(args, process.env)
    if (config) log.control.configure(config.log.level)
    else log.error('the configuration is invalid; the log level is unchanged', { problems })
    await server.reload()
    log.info('files reloaded')
  } catch (error) {
    log.error('files could not be reloaded', { error })
  }
}

/** Waits for SIGTERM or SIGINT, and drains requests. A second signal ends the process. Resolves to the exit code. */
const serveUntilStopped = (server: RunningServers, log: PinoLog, signals: StopSignals): Promise<number> =>
  new Promise((resolve) => {
    let isStopping = false
    signals.onStop((signal) => {
      if (isStopping) resolve(EXIT.ok)
      isStopping = true
      log.info('the server is stopping', { signal })
      server.close().then(
        () => resolve(EXIT.ok),
        (error: unknown) => {
          log.error('the server did not stop cleanly', { error })
          resolve(EXIT.usage)
        },
      )
    })
  })
