import type { Command } from 'commander'
import { examine, type Finding } from '../../lab/doctor/checks.js'
import { thisMachine } from '../../lab/doctor/machine.js'
import { LabError } from '../../lab/model/lab-error.js'
import { loadTopology, TOPOLOGY_NAMES } from '../../lab/topology/catalogue.js'
import { formatTable, type Output } from '../terminal/output.js'
import { TypedCommand } from '../terminal/command.js'

/** `understudy doctor`: checks that this machine can run a lab. Prints a line per check, and a fix per problem. */
export const doctorCommand = (output: Output): Command =>
  new TypedCommand('doctor')
    .description('check that this machine can run a lab')
    .flag('--topology <name>', `topology whose ports are checked: ${TOPOLOGY_NAMES.join(', ')}`, 'four')
    .flag('--port-base <port>', 'first API port of the lab', '8200')
    .json()
    .examples('doctor', 'doctor --topology six --port-base 9200')
    .run(async (flags) => {
      const topology = loadTopology(flags.topology)
      if (!/^\d{1,5}$/.test(flags.portBase))
        throw new LabError('usage', `"${flags.portBase}" is not a port: use a number such as 8200`)
      const findings = await examine({ machine: thisMachine(), topology, portBase: Number(flags.portBase) })
      output.data(flags.json ? JSON.stringify(findings, undefined, 2) : formatTable(findings.map(toRow)))
      const wrong = findings.filter(({ verdict }) => verdict === 'failed').map(({ name }) => name)
      if (wrong.length > 0) throw new LabError('usage', `this machine cannot run the lab: ${wrong.join(', ')}`)
    })

const toRow = ({ name, verdict, text, fix }: Finding): string[] => [
  verdict === 'failed' ? 'FAILED' : verdict,
  name,
  fix === '' ? text : `${text}; ${fix}`,
]
