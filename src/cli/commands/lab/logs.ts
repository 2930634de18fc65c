import { Command } from 'commander'
import { type Clock, systemClock } from '../../../base/clock.js'
import { requireLab } from '../../../lab/lifecycle/lab-directory.js'
import { exportLogs, mergeLogs } from '../../../lab/lifecycle/logs.js'
import { chooseClusters } from '../../../lab/lifecycle/servers.js'
import type { Output } from '../../output.js'
import { nameOption, parseTimeout } from './options.js'

interface LogFlags {
  readonly name: string
  readonly since?: string
  readonly export?: string
}

/** `understudy logs`: what servers logged, merged by time; works for a lab whose start failed as well. */
export const logsCommand = (output: Output, clock: Clock = systemClock): Command =>
  new Command('logs')
    .description('print the logs of servers, merged by time, with the cluster in front')
    .argument('[clusters...]', 'A, B, ...; all by default')
    .addOption(nameOption())
    .option('--since <duration>', 'only of the last so long, such as 1m')
    .option('--export <directory>', 'copy the log files there instead')
    .addHelpText('after', '\nExamples:\n  understudy logs A C --since 1m\n  understudy logs --export ci-artifacts/')
    .action((clusters: string[], flags: LogFlags) => {
      const lab = requireLab(flags.name, 'its servers log where they run')
      chooseClusters(lab, clusters)
      if (flags.export !== undefined) {
        for (const file of exportLogs(lab, flags.export)) output.progress(file)
        return
      }
      const sinceMs = flags.since === undefined ? 0 : clock.now() - parseTimeout(flags.since)
      const lines = mergeLogs(lab, clusters, sinceMs).map(({ cluster, text }) => `${cluster} ${text}`)
      if (lines.length > 0) output.data(lines.join('\n'))
    })
