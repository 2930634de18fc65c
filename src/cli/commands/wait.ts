import { Command, Option } from 'commander'
import { type Clock, systemClock } from '../../base/clock.js'
import { parseDurationMs } from '../../base/duration.js'
import { ApiClient } from '../../client/api-client.js'
import { LabError } from '../../lab/lab-error.js'
import { requireLab } from '../../lab/lifecycle/lab-directory.js'
import { findMissing, READINESS, type Readiness } from '../../lab/readiness.js'
import { waitFor } from '../../lab/wait.js'
import type { Output } from '../output.js'

interface WaitFlags {
  readonly addr?: string
  readonly for: Readiness
  readonly name: string
  readonly timeout: string
}

/** `understudy wait`: returns when a server, or every cluster of a lab, is as far as is asked; 4 when time runs out. */
export const waitCommand = (output: Output, clock: Clock = systemClock): Command =>
  new Command('wait')
    .description('wait until a server, or every cluster of a lab, is as far as is asked')
    .option('--addr <url>', 'one server; without it the lab is meant')
    .option('--name <lab>', 'name of the lab', 'default')
    .addOption(new Option('--for <state>', 'how far').choices([...READINESS]).default('replicated'))
    .option('--timeout <duration>', 'bound, such as 30s', '30s')
    .action(async (flags: WaitFlags) => {
      const timeoutMs = parseDurationMs(flags.timeout)
      if (timeoutMs === undefined || timeoutMs <= 0) {
        throw new LabError('usage', `"${flags.timeout}" is not a duration such as 30s`)
      }
      const addresses = flags.addr ? [flags.addr] : requireLab(flags.name).clusters.map(({ apiAddress }) => apiAddress)
      await Promise.all(
        addresses.map(async (address) => {
          const client = new ApiClient({ address, skipVerify: true, timeoutMs })
          try {
            await waitFor(clock, `${address} to be ${flags.for}`, () => findMissing(client, flags.for), timeoutMs)
          } finally {
            client.close()
          }
          output.progress(`${address} is ${flags.for}`)
        }),
      )
    })
