import { counted } from '../../../base/counted.js'
import type { Command } from 'commander'
import { LabError } from '../../../lab/model/lab-error.js'
import type { Topology } from '../../../lab/model/topology.js'
import {
  listTopologies,
  loadTopology,
  readTopologyFile,
  requireTopology,
  topologyText,
} from '../../../lab/topology/catalogue.js'
import { describeTopology } from '../../../lab/topology/describe.js'
import { TOPOLOGY_SCHEMA } from '../../../lab/topology/schema.js'
import { TypedCommand } from '../../terminal/command.js'
import { formatTable, type Output, textWidth } from '../../terminal/output.js'

/** `understudy topology list|show|validate|schema`: shows the included topologies, and validates topology files. */
export const topologyCommand = (output: Output): Command => {
  const topology = new TypedCommand('topology')
    .description('show and validate topologies')
    .examples('topology list', 'topology show pr-dr --yaml > mine.yaml', 'topology validate mine.yaml')
  const add = (name: string, about: string) => topology.command(name).description(about)
  add('list', 'list the included topologies')
    .json()
    .examples('topology list', 'topology list --json')
    .run((flags) => {
      const all = listTopologies()
      output.data(
        flags.json
          ? printJson(all)
          : formatTable(
              all.map(({ name, clusters, about }) => [name, clusters.join(' '), about]),
              textWidth(),
            ),
      )
    })
  add('show', 'show a topology as a diagram or as a file')
    .argument('<topology>', 'name, or YAML file')
    .flag('--yaml', 'print the topology file')
    .json()
    .examples('topology show six', 'topology show pr-dr --yaml > mine.yaml')
    .run((flags, name: string) => {
      if (flags.yaml) return output.data(topologyText(requireTopology(name).name).trimEnd())
      const found = loadTopology(name)
      output.data(flags.json ? printJson(found) : describeTopology(found))
    })
  add('validate', 'validate topology files')
    .argument('<files...>', 'YAML files')
    .examples('topology validate mine.yaml', 'topology validate labs/*.yaml')
    .run((_flags, files: string[]) => {
      const problems = files.flatMap((file) => findProblem(file, output) ?? [])
      if (problems.length > 0) throw new LabError('usage', problems.join('\n'))
    })
  add('schema', 'print the JSON Schema of topology files for editors')
    .examples('topology schema', 'topology schema > topology.schema.json')
    .run(() => output.data(printJson(TOPOLOGY_SCHEMA)))
  return topology
}

/** Returns the first problem of a file. If the file is valid, prints its name and size, and returns undefined. */
const findProblem = (file: string, output: Output): string | undefined => {
  try {
    const { name, clusters } = readTopologyFile(file)
    output.data(`${file}: ${name} is a topology of ${counted(clusters.length, 'cluster')}`)
    return undefined
  } catch (error) {
    if (error instanceof LabError) return error.message
    throw error
  }
}

const printJson = (value: Topology | readonly Topology[] | object): string => JSON.stringify(value, undefined, 2)
