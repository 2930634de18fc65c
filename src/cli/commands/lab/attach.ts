import type { Command } from 'commander'
import { addressesOfServers, attachLab, clustersAt, parseAddresses } from '../../../lab/attach/attach.js'
import { findComposeProject } from '../../../lab/containers/compose-project.js'
import { type KnownKeys, NO_KEYS, readKeysFile } from '../../../lab/keys/keys-file.js'
import { type AttachedLab, type AttachedServer, serversIn } from '../../../lab/model/cluster.js'
import { LabError } from '../../../lab/model/lab-error.js'
import { labDirectory } from '../../../lab/model/lab-directory.js'
import { thisHost } from '../../../lab/processes/lab-host.js'
import { TypedCommand } from '../../terminal/command.js'
import { formatTable, type Output } from '../../terminal/output.js'
import { CA_CERT, requireReadable } from './options.js'
import { requireTopology } from '../../../lab/topology/catalogue.js'

/** `understudy attach`: registers externally managed servers as a lab, so that the lab commands work on them. */
export const attachCommand = (output: Output): Command =>
  new TypedCommand('attach')
    .description('register running servers as a lab')
    .argument('<name>', 'name of the lab')
    .argument(
      '[clusters...]',
      'address of each cluster, such as A=http://127.0.0.1:8200, or of each node: A1=..., A2=...',
    )
    .flag(
      '--keys <file>',
      'file with root tokens and key shares: from "wire --keep", or {"A": {...}} with the output of "operator init"',
    )
    .flag(
      '--compose <directory>',
      'use the containers of the compose file in this directory: read addresses and keys, start and stop containers',
    )
    .flag('--project <name>', 'project name of the containers; requires --compose')
    .flag('--topology <name>', 'topology of the servers (default: the topology in the keys file)')
    .flag(...CA_CERT)
    .json('print the lab as JSON')
    .examples(
      'attach staging A=http://10.0.0.1:8200 B=http://10.0.0.2:8200 --keys keys.json',
      'attach boxes --compose ./exported',
    )
    .run(async (flags, name: string, given: string[]) => {
      labDirectory(name)
      if (flags.project !== undefined && flags.compose === undefined)
        throw new LabError('usage', '--project requires --compose with the directory of the compose file')
      const host = thisHost()
      const fromFile = flags.keys === undefined ? undefined : readKeysFile(flags.keys, output.complain)
      const project = flags.compose === undefined ? undefined : await findComposeProject(flags.compose, flags.project)
      const keys = fromFile ?? project?.keys ?? NO_KEYS
      const topology = flags.topology === undefined ? keys.topology : requireTopology(flags.topology).name
      const caFile = flags.caCert === undefined ? undefined : requireReadable(flags.caCert)
      // Addresses on the command line take precedence over published ports, and these over the file of `wire --keep`.
      const known =
        project?.addresses ??
        [...(fromFile?.clusters ?? [])].flatMap(([letter, one]) => addressesOfServers({ name: letter, ...one }))
      const addresses = new Map([...known, ...parseAddresses(given)])
      const clusters = clustersAt(addresses, keys, { containers: project?.containers ?? new Map(), caFile })
      const caPem = caFile === undefined ? project?.caPem : undefined
      const keeper = project?.keeper
      const lab = await attachLab({ name, topology, clusters, keeper, caPem, onWarning: output.complain }, host)
      output.data(flags.json ? JSON.stringify(lab, undefined, 2) : describe(lab, keys))
    })

const describe = (lab: AttachedLab, keys: KnownKeys): string => {
  const rows = lab.clusters.flatMap((cluster) =>
    serversIn<AttachedServer>(cluster).map(({ name, apiAddress, container }) => [
      name,
      apiAddress,
      keys.clusters.has(cluster.name) ? 'known' : 'not known',
      container ?? '-',
    ]),
  )
  return [
    formatTable([['cluster', 'address', 'keys', 'container'], ...rows]),
    '',
    `Next: understudy status --name ${lab.name}; understudy down ${lab.name} unregisters the lab and stops no server`,
  ].join('\n')
}
