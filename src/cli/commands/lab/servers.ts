import type { Command } from 'commander'
import { thisHost } from '../../../lab/processes/lab-host.js'
import { workOnServers } from '../../../lab/lifecycle/servers.js'
import { SERVER_VERBS, type ServerVerb } from '../../../lab/model/server-verbs.js'
import { TypedCommand } from '../../terminal/command.js'
import type { Output } from '../../terminal/output.js'
import { parseTimeout } from './options.js'

/** `understudy start|stop|restart|crash|pause|resume|seal|unseal`: one command each. */
export const serverCommands = (output: Output): Command[] =>
  Object.entries(SERVER_VERBS).map(([verb, { about, needsName }]) =>
    new TypedCommand(verb)
      .description(about)
      .argument(needsName ? '<clusters...>' : '[clusters...]', 'A, B, ..., or a node such as A2')
      .lab()
      .timeout()
      .examples(`${verb} A`, `${verb} B C --name drill`)
      .run(async (flags, clusters: string[]) => {
        const options = { timeoutMs: parseTimeout(flags.timeout), onProgress: output.progress }
        await workOnServers(flags.name, verb as ServerVerb, clusters, options, thisHost())
      }),
  )
