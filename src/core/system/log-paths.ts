/** sys/loggers and sys/monitor: the log levels of this server until its next start, and a stream of its log lines. */
import { Readable } from 'node:stream'
import { LOG_LEVELS, LOGGERS, type LogControl, type LogLevel, type LoggerName } from '../../base/log-control.js'
import { LIMITS } from '../../base/limits.js'
import { toStandard } from '../../base/pino-log.js'
import { type Call, definePath, type PathSpec } from '../../logical/backend.js'
import { invalid } from '../../logical/errors.js'
import { string } from '../../logical/fields.js'
import type { Request } from '../../logical/request.js'

const LEVEL = { level: string('Log level: trace, debug, info, warn or error.', '', { isRequired: true }) }
const LOGGER = { ...LEVEL, name: string(`Name of the logger: ${LOGGERS.join(', ')}.`) }
const MONITOR = {
  log_level: string('Lowest level of the lines.', 'info'),
  log_format: string('Format of the lines: standard or json.', 'standard'),
}

interface LogPathsDeps {
  /** Absent if the server has no log. */
  readonly control: LogControl | undefined
  /** Aborts when the server stops. */
  readonly stopping: AbortSignal
}

export const logPaths = ({ control, stopping }: LogPathsDeps): PathSpec[] => {
  const requireControl = (): LogControl => {
    if (!control) throw invalid('this server has no log')
    return control
  }
  const levels = (names: readonly LoggerName[]) => ({
    data: Object.fromEntries(names.map((name) => [name, requireControl().levelOf(name)])),
  })
  return [
    definePath('loggers', LEVEL, 'Read, change or reset the levels of all loggers.', {
      read: () => levels(LOGGERS),
      update: ({ values }) => void requireControl().setLevel(requireLevel(values.level)),
      delete: () => void requireControl().setLevel(undefined),
    }),
    definePath('loggers/:name', LOGGER, 'Read, change or reset the level of one logger.', {
      read: ({ values }) => levels([requireLogger(values.name)]),
      update: ({ values }) => void requireControl().setLevel(requireLevel(values.level), [requireLogger(values.name)]),
      delete: ({ values }) => void requireControl().setLevel(undefined, [requireLogger(values.name)]),
    }),
    definePath('monitor', MONITOR, 'Stream the log lines of this server from now on.', {
      read: ({ request, values }: Call<typeof MONITOR>) => {
        const level = requireLevel(values.log_level)
        const isJson = values.log_format === 'json'
        if (!isJson && values.log_format !== 'standard')
          throw invalid(`unknown log format ${JSON.stringify(values.log_format)}: use standard or json`)
        const print = (line: string) => Buffer.from(isJson ? line : toStandard(line))
        const body = openStream({ control: requireControl(), level, print, stopping, request })
        return { raw: { contentType: isJson ? 'application/json' : 'text/plain; charset=utf-8', body } }
      },
    }),
  ]
}

interface StreamOptions {
  readonly control: LogControl
  readonly level: LogLevel
  readonly print: (line: string) => Buffer
  readonly stopping: AbortSignal
  readonly request: Pick<Request, 'onGone'>
}

/** Returns a stream of log lines that ends when the client disconnects or the server stops. */
const openStream = ({ control, level, print, stopping, request }: StreamOptions): Readable => {
  const body = new Readable({
    read() {},
    destroy(error, done) {
      leave()
      done(error)
    },
  })
  const unfollow = control.follow({
    level,
    write(line) {
      const text = print(line)
      // While the client is too slow, drops lines.
      if (body.readableLength + text.length <= LIMITS.monitorBacklogBytesMax) body.push(text)
    },
  })
  const end = () => {
    leave()
    body.push(null)
  }
  const stay = request.onGone?.(end)
  stopping.addEventListener('abort', end, { once: true })
  const leave = () => {
    unfollow()
    stay?.()
    stopping.removeEventListener('abort', end)
  }
  return body
}

const requireLevel = (text: string): LogLevel => {
  if (text === '') throw invalid('level is required')
  const level = LOG_LEVELS.get(text.toLowerCase())
  if (!level) throw invalid(`invalid level provided: unknown log level: ${text}`)
  return level
}

const requireLogger = (name: string): LoggerName => {
  const found = LOGGERS.find((known) => known === name)
  if (!found) throw invalid(`logger ${JSON.stringify(name)} not found`)
  return found
}
