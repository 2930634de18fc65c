/** sys/loggers and sys/monitor: the log levels of this server until its next start, and a stream of its log lines. */
import { LOG_LEVELS, LOGGERS, type LogControl, type LogLevel, type LoggerName } from '../../base/log-control.js'
import { LineStream } from '../../base/line-stream.js'
import { toStandard } from '../../base/pino-log.js'
import { type Call, definePath, type PathSpec } from '../../logical/backend.js'
import { invalid } from '../../logical/errors.js'
import { string } from '../../logical/fields.js'

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
        const followed = requireControl()
        const body = new LineStream((write, end) => {
          const unfollow = followed.follow({ level, write: (line) => write(isJson ? line : toStandard(line)) })
          const stay = request.onGone?.(end)
          stopping.addEventListener('abort', end, { once: true })
          return () => {
            unfollow()
            stay?.()
            stopping.removeEventListener('abort', end)
          }
        })
        return { raw: { contentType: isJson ? 'application/json' : 'text/plain; charset=utf-8', body } }
      },
    }),
  ]
}

const requireLevel = (text: string): LogLevel => {
  if (text === '') throw invalid('level is empty')
  const level = LOG_LEVELS.get(text.toLowerCase())
  if (!level) throw invalid(`invalid level provided: ${text}; use trace, debug, info, warn or error`)
  return level
}

const requireLogger = (name: string): LoggerName => {
  const found = LOGGERS.find((known) => known === name)
  if (!found) throw invalid(`logger ${JSON.stringify(name)} not found; the loggers are: ${LOGGERS.join(', ')}`)
  return found
}
