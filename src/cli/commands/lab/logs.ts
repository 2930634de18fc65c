import type { Command } from 'commander'
import { attempt } from '../../../base/attempt.js'
import { systemClock } from '../../../base/clock.js'
import { LabError } from '../../../lab/model/lab-error.js'
import { findLab, requireOwnLab } from '../../../lab/model/lab-directory.js'
import {
  exportLogs,
  isOfRequest,
  type LogLine,
  LogReader,
  logSources,
  toJsonLine,
  toTextLine,
} from '../../../lab/lifecycle/logs.js'
import { chooseServers } from '../../../lab/nodes/choose.js'
import { TypedCommand } from '../../terminal/command.js'
import { isTextWanted, whenOutputCloses, type Output } from '../../terminal/output.js'
import { parseTimeout } from './options.js'

/** Time between two reads of followed logs. */
const POLL_MS = 100

/** `understudy logs`: shows the logs of servers, merged by time. Also works for a lab whose start failed. */
export const logsCommand = (output: Output): Command =>
  new TypedCommand('logs')
    .description('print the server logs of a lab in order of time')
    .argument('[clusters...]', 'clusters, or nodes such as A2 (default: all)')
    .lab()
    .flag('-f, --follow', 'print further entries until the lab is removed')
    .flag('--since <duration>', 'only entries newer than this, such as 1m (default: all)')
    .flag('--all', 'include the log of the lab daemon')
    .flag('--request-id <id>', 'only entries of this request; requires up --log-level debug')
    .flag('--export <directory>', 'copy the log files to this directory')
    .json('print one JSON object per line (default if standard output is not a terminal)')
    .examples('logs A C --since 1m', 'logs -f', 'logs --all --export ci-artifacts/')
    .run(async (flags, clusters: string[]) => {
      const lab = requireOwnLab(flags.name, 'its servers write their logs on their own machines')
      chooseServers(lab, clusters)
      const sources = logSources(lab, clusters, flags.all === true || flags.export !== undefined)
      if (flags.export !== undefined) {
        for (const file of exportLogs(sources, flags.export)) output.progress(file)
        return
      }
      const sinceMs = flags.since === undefined ? 0 : systemClock.now() - parseTimeout(flags.since)
      const isWanted = (line: LogLine) =>
        line.atMs >= sinceMs && (flags.requestId === undefined || isOfRequest(line, flags.requestId))
      const toLine = isTextWanted(flags) ? toTextLine : toJsonLine
      const reader = new LogReader(sources)
      const print = (): number => {
        const lines = reader.read().filter(isWanted)
        if (lines.length > 0) output.data(lines.map(toLine).join('\n'))
        return lines.length
      }
      const count = print()
      if (flags.follow) await follow(print, flags.name)
      else if (count === 0 && flags.requestId !== undefined) throw notLogged(flags.requestId)
    })

const follow = async (print: () => number, lab: string): Promise<void> => {
  const gone = whenOutputCloses()
  while (!gone.aborted && labExists(lab)) {
    await systemClock.sleep(POLL_MS)
    print()
  }
}

/** Returns true if the lab exists, also if its record is damaged, because its logs are still readable. */
const labExists = (lab: string): boolean => attempt(() => findLab(lab) !== undefined) ?? true

const notLogged = (id: string): LabError =>
  new LabError(
    'usage',
    `no server logged the request "${id}"; servers log requests only if the lab is started with "up --log-level debug"`,
  )
