import { Command, Option } from 'commander'
import { type Clock, systemClock } from '../../base/clock.js'
import { parseDurationMs } from '../../base/duration.js'
import { ApiClient } from '../../client/api-client.js'
import { LabError } from '../../lab/lab-error.js'
import { requireLab } from '../../lab/lifecycle/lab-directory.js'
import { chooseClusters } from '../../lab/lifecycle/servers.js'
import { findMissing, READINESS, type Readiness } from '../../lab/readiness.js'
import { waitFor } from '../../lab/wait.js'
import type { Output } from '../output.js'
import { examples } from '../help.js'

interface WaitFlags {
  readonly addr?: string
  readonly for: Readiness
  readonly name: string
  readonly cluster?: string
  readonly timeout: string
}

/** `understudy wait`: returns when a server, or every cluster of a lab, is as far as is asked; 4 when time runs out. */
export const waitCommand = (output: Output, clock: Clock = systemClock): Command =>
  new Command('wait')
    .description('wait until a server, or every cluster of a lab, is as far as is asked')
    .option('--addr <url>', 'one server; without it the lab is meant')
    .option('--name <lab>', 'name of the lab', 'default')
    .option('--cluster <cluster>', 'only this cluster of the lab')
    .addOption(new Option('--for <state>', 'how far').choices([...READINESS]).default('replicated'))
    .option('--timeout <duration>', 'bound, such as 30s', '30s')
    .addHelpText(
      'after',
      examples('wait --for replicated --timeout 1m', 'wait --addr http://127.0.0.1:8200 --for unsealed'),
    )
    .action(async (flags: WaitFlags) => {
      const timeoutMs = parseDurationMs(flags.timeout)
      if (timeoutMs === undefined || timeoutMs <= 0) {
        throw new LabError('usage', `"${flags.timeout}" is not a duration such as 30s`)
      }
      await Promise.all(
        serversOf(flags).map(async ({ label, address }) => {
          const client = new ApiClient({ address, skipVerify: true, timeoutMs })
          try {
            await waitFor(clock, `${label} to be ${flags.for}`, () => findMissing(client, flags.for), timeoutMs)
          } finally {
            client.close()
          }
          output.progress(`${label} is ${flags.for}`)
        }),
      )
    })

/** Clusters of a lab by their letters; a server by its address. */
const serversOf = ({ addr, name, cluster }: WaitFlags): { label: string; address: string }[] => {
  if (addr === undefined) {
    const chosen = chooseClusters(requireLab(name), cluster === undefined ? [] : [cluster])
    return chosen.map((one) => ({ label: `cluster ${one.name}`, address: one.apiAddress }))
  }
  if (!/^https?:\/\/[^/]+/.test(addr) || !URL.canParse(addr))
    throw new LabError('usage', `"${addr}" is not an address such as http://127.0.0.1:8200`)
  return [{ label: addr, address: addr }]
}
