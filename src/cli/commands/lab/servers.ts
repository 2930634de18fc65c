import { Command } from 'commander'
import { type LabHost, thisHost } from '../../../lab/processes/lab-host.js'
import { workOnServers } from '../../../lab/lifecycle/servers.js'
import { SERVER_VERBS, type ServerVerb } from '../../../lab/model/server-verbs.js'
import type { Output } from '../../terminal/output.js'
import { nameOption, parseTimeout, timeoutOption } from './options.js'

/** `understudy start|stop|restart|crash|pause|resume|seal|unseal`: one command each. */
export const serverCommands = (output: Output, makeHost: () => LabHost = thisHost): Command[] =>
  Object.entries(SERVER_VERBS).map(([verb, { about, needsName }]) =>
    new Command(verb)
      .description(about)
      .argument(needsName ? '<clusters...>' : '[clusters...]', 'A, B, ..., or a node such as A2')
      .addOption(nameOption())
      .addOption(timeoutOption())
      .addHelpText('after', `\nExamples:\n  understudy ${verb} A\n  understudy ${verb} B C --name drill`)
      .action(async (clusters: string[], flags: { name: string; timeout: string }) => {
        const options = { timeoutMs: parseTimeout(flags.timeout), onProgress: output.progress }
        await workOnServers(flags.name, verb as ServerVerb, clusters, options, makeHost())
      }),
  )
