import { Command } from 'commander'
import { type Clock, systemClock } from '../../../base/clock.js'
import { describeEvent } from '../../../lab/daemon/describe.js'
import type { LabEvent } from '../../../lab/events/event.js'
import { followEvents, listEvents } from '../../../lab/daemon/lab-daemon-client.js'
import { requireOwnLab } from '../../../lab/model/lab-directory.js'
import { examples } from '../../terminal/help.js'
import { withInterrupt } from '../../terminal/interrupt.js'
import { onReaderGone, type Output } from '../../terminal/output.js'
import { nameOption, parseTimeout } from './options.js'

interface EventFlags {
  readonly name: string
  readonly follow?: true
  readonly json?: true
  readonly since?: string
}

/**
 * `understudy events`: shows the event history of a lab, including events without a viewer and after its lab daemon has
 * ended.
 */
export const eventsCommand = (output: Output, clock: Clock = systemClock): Command =>
  new Command('events')
    .description('list the events of a lab: commands, faults, and changes of processes, seals, roles and replication')
    .addOption(nameOption())
    .option('-f, --follow', 'follow the events until interrupted')
    .option('--json', 'print one JSON object per line')
    .option('--since <duration>', 'only events of the last period, such as 10m')
    .addHelpText('after', examples('events --since 10m', 'events -f --name drill --json'))
    .action(async (flags: EventFlags) => {
      const lab = requireOwnLab(flags.name, 'no lab daemon records its events')
      const sinceMs = flags.since === undefined ? 0 : clock.now() - parseTimeout(flags.since)
      const print = (event: LabEvent) => output.data(flags.json ? JSON.stringify(event) : describeEvent(event))
      const past = await listEvents(lab)
      for (const event of past) if (Date.parse(event.time) >= sinceMs) print(event)
      if (!flags.follow) {
        if (past.length === 0) output.progress('nothing has happened yet')
        return
      }
      await withInterrupt(({ signal }) =>
        followEvents(lab, past.at(-1)?.id ?? 0, {
          clock,
          signal: AbortSignal.any([signal, onReaderGone()]),
          onEvent: print,
          onLost: (reason) => output.progress(`${reason}; waiting for it`),
        }),
      )
    })
