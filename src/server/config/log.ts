import type { LogLevel } from '../../base/log.js'
import type { LogConfig } from './config.js'
import type { ConfigSources } from './sources.js'
import { fromFlag, fromVariable } from './resolved-settings.js'

const LEVELS: Readonly<Record<string, LogLevel>> = {
  trace: 'trace',
  debug: 'debug',
  info: 'info',
  warn: 'warn',
  warning: 'warn',
  error: 'error',
  err: 'error',
}

export const resolveLog = ({ flags, env, files, settled, findings }: ConfigSources): LogConfig => {
  const { root } = files
  const levelSources = [
    fromFlag('-log-level', flags.logLevel),
    fromVariable(env, 'VAULT_LOG_LEVEL'),
    given(root.log_level),
  ]
  const formatSources = [
    fromFlag('-log-format', flags.logFormat),
    fromVariable(env, 'VAULT_LOG_FORMAT'),
    given(root.log_format),
  ]
  const level = settled.text('log_level', levelSources, 'info').toLowerCase()
  const format = settled.text('log_format', formatSources, BY_READER)
  const known = LEVELS[level]
  if (!known) findings.problems.push({ origin: originOf(levelSources), text: `unknown log level "${level}"` })
  if (format !== 'json' && format !== 'standard' && format !== BY_READER)
    findings.problems.push({
      origin: originOf(formatSources),
      text: `log format is standard or json, not "${format}"`,
    })
  return {
    level: known ?? 'info',
    format: format === 'json' || format === 'standard' ? format : undefined,
    file: settled.text('log_file', [fromFlag('-log-file', flags.logFile), root.log_file]),
  }
}

/** The default as displayed. */
const BY_READER = 'standard on a terminal, else json'

type Source = ConfigSources['files']['root'][string] | undefined

/** Treats an empty string in a file as the default. */
const given = (source: Source): Source => (source?.value === '' ? undefined : source)

const originOf = (sources: readonly Source[]): string => sources.find((source) => source)?.origin ?? 'log'
