import type { Command } from 'commander'
import { systemClock } from '../../../base/clock.js'
import { describeEvent } from '../../../lab/daemon/describe.js'
import type { LabEvent } from '../../../lab/events/event.js'
import { followEvents, listEvents } from '../../../lab/daemon/lab-daemon-client.js'
import { requireRecordedEvents } from '../../../lab/model/lab-directory.js'
import { TypedCommand } from '../../terminal/command.js'
import { withInterrupt } from '../../terminal/interrupt.js'
import { whenOutputCloses, type Output } from '../../terminal/output.js'
import { parseTimeout } from './options.js'

/**
 * `understudy events`: shows the event history of a lab. The lab daemon records events even if no command follows them.
 * The history is also available after the lab daemon has stopped.
 */
export const eventsCommand = (output: Output): Command =>
  new TypedCommand('events')
    .description('list the events of a lab')
    .lab()
    .flag('-f, --follow', 'print further events until interrupted')
    .json('print one JSON object per line')
    .flag('--since <duration>', 'only events newer than this, such as 10m (default: all)')
    .examples('events --since 10m', 'events -f --name drill --json')
    .run(async (flags) => {
      const lab = requireRecordedEvents(flags.name)
      const sinceMs = flags.since === undefined ? 0 : systemClock.now() - parseTimeout(flags.since)
      const print = (event: LabEvent) => output.data(flags.json ? JSON.stringify(event) : describeEvent(event))
      const past = await listEvents(lab)
      for (const event of past) if (Date.parse(event.time) >= sinceMs) print(event)
      if (!flags.follow) {
        if (past.length === 0) output.progress('there are no events in this lab')
        return
      }
      await withInterrupt(({ signal }) =>
        followEvents(lab, past.at(-1)?.id ?? 0, {
          clock: systemClock,
          signal: AbortSignal.any([signal, whenOutputCloses()]),
          onEvent: print,
          onLost: (reason) => output.progress(`${reason}; reconnecting`),
        }),
      )
    })
