import { Command } from 'commander'
import { type LabHost, thisHost } from '../../../lab/processes/lab-host.js'
import { workOnServers } from '../../../lab/lifecycle/servers.js'
import type { ServerVerb } from '../../../lab/model/server-verbs.js'
import type { Output } from '../../terminal/output.js'
import { nameOption, parseTimeout, timeoutOption } from './options.js'

const ABOUT: Readonly<Record<ServerVerb, string>> = {
  start: 'start stopped or killed servers with their data, and unseal them',
  stop: 'stop servers with SIGTERM and keep their data',
  restart: 'stop, start and unseal servers',
  crash: 'kill servers with SIGKILL',
  pause: 'suspend servers with SIGSTOP: they stop responding',
  resume: 'resume suspended servers',
  wipe: 'remove the data of stopped servers; a node with raft storage joins again when it starts',
  seal: 'seal servers',
  unseal: 'unseal servers with the keys of the lab',
}

/** Verbs that require a name, because they would otherwise affect every server. */
const NEEDS_NAME: ReadonlySet<ServerVerb> = new Set<ServerVerb>(['crash', 'pause', 'wipe', 'seal'])

/** `understudy start|stop|restart|crash|pause|resume|seal|unseal`: one command each. */
export const serverCommands = (output: Output, makeHost: () => LabHost = thisHost): Command[] =>
  (Object.keys(ABOUT) as ServerVerb[]).map((verb) =>
    new Command(verb)
      .description(ABOUT[verb])
      .argument(NEEDS_NAME.has(verb) ? '<clusters...>' : '[clusters...]', 'A, B, ..., or a node such as A2')
      .addOption(nameOption())
      .addOption(timeoutOption())
      .addHelpText('after', `\nExamples:\n  understudy ${verb} A\n  understudy ${verb} B C --name drill`)
      .action(async (clusters: string[], flags: { name: string; timeout: string }) => {
        const options = { timeoutMs: parseTimeout(flags.timeout), onProgress: output.progress }
        await workOnServers(flags.name, verb, clusters, options, makeHost())
      }),
  )
