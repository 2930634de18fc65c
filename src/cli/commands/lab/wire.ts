import { messageOf } from '../../../base/printable.js'
import { accessSync, constants, existsSync } from 'node:fs'
import path from 'node:path'
import type { Command } from 'commander'
import { attachLab, groupServers, parseAddresses, refuseWhenThere } from '../../../lab/attach/attach.js'
import { type KnownKeys, readKeysFile, writeKeysFile } from '../../../lab/keys/keys-file.js'
import { wireClusters } from '../../../lab/attach/wiring.js'
import type { WiredClusters } from '../../../lab/model/cluster.js'
import { LabError } from '../../../lab/model/lab-error.js'
import { labDirectory } from '../../../lab/model/lab-directory.js'
import { thisHost } from '../../../lab/processes/lab-host.js'
import { drawLab } from '../../../lab/topology/describe.js'
import { proveReplication } from '../../../lab/wiring/proof.js'
import { planOf } from '../../../lab/model/topology.js'
import { loadTopology, topologyOf } from '../../../lab/topology/catalogue.js'
import { TypedCommand } from '../../terminal/command.js'
import { formatTable, type Output } from '../../terminal/output.js'
import { describeKeys } from './describe-keys.js'
import { CA_CERT, parseTimeout, requireReadable } from './options.js'

/** `understudy wire`: sets up replication between running servers, for example the containers of a compose file. */
export const wireCommand = (output: Output): Command =>
  new TypedCommand('wire')
    .description('set up and verify replication between running servers')
    .argument(
      '<clusters...>',
      'address of each cluster, such as A=http://a:8200, or of each node, such as A1=http://a1:8200',
    )
    .required('--topology <name>', 'included topology, such as pr-dr, or a YAML file')
    .timeout('60s')
    .flag('--keep <file>', 'write keys and tokens to this file; a second run reads them (default: print them)')
    .flag(...CA_CERT)
    .flag('--name <lab>', 'register the servers as a lab with this name, as "attach" does (default: no lab)')
    .json()
    .examples(
      'wire --topology dr A=http://a:8200 B=http://b:8200',
      'wire --topology pr-dr --keep keys.json A=http://a:8200 B=http://b:8200 C=http://c:8200',
      'wire --topology dr --name boxes A=http://10.0.0.1:8200 B=http://10.0.0.2:8200',
    )
    .run(async (flags, given: string[]) => {
      const topology = loadTopology(flags.topology)
      const timeoutMs = parseTimeout(flags.timeout)
      const addresses = parseAddresses(given)
      const unknown = [...groupServers(addresses.keys()).keys()].filter((name) => !topology.clusters.includes(name))
      if (unknown.length > 0)
        throw new LabError('usage', `the topology ${topology.name} has no cluster ${unknown.join(', ')}`)
      const { keep, name } = flags
      if (name !== undefined && labDirectory(name)) refuseWhenThere(name)
      if (keep) requireWritable(keep)
      const caFile = flags.caCert === undefined ? undefined : requireReadable(flags.caCert)
      const host = thisHost()
      const options = {
        shares: 1,
        threshold: 1,
        timeoutMs,
        clock: host.clock,
        caFile,
        onKeep: (wired: WiredClusters) => {
          if (keep) writeKeysFile(keep, wired)
        },
      }
      const { wired, links } = await wireClusters(topology, addresses, readStoredKeys(keep, output), options)
      if (name !== undefined) {
        await attachLab({ name, ...wired, onWarning: output.complain }, host)
        output.progress(`registered the servers as the lab "${name}"`)
      }
      const proof = await proveReplication(wired, { clock: host.clock, timeoutMs, links })
      output.data(
        flags.json
          ? JSON.stringify({ ...wired, proof }, undefined, 2)
          : describe({ ...wired, plan: topology }, proof, keep),
      )
    })

/** Throws LabError `usage` if the file cannot be written. A failure after the initialization would lose the keys. */
const requireWritable = (file: string): void => {
  try {
    accessSync(path.dirname(path.resolve(file)), constants.W_OK)
    if (existsSync(file)) accessSync(file, constants.W_OK)
  } catch (error) {
    throw new LabError('usage', `${file} cannot be written: ${messageOf(error)}`)
  }
}

const readStoredKeys = (file: string | undefined, output: Output): WiredClusters | undefined => {
  if (!file || !existsSync(file)) return undefined
  const { topology, joined, clusters }: KnownKeys = readKeysFile(file, output.complain)
  return {
    topology: topology ?? '',
    joined,
    clusters: [...clusters].map(([name, { apiAddress = '', ...keys }]) => ({ name, apiAddress, ...keys })),
  }
}

/** Describes the wired clusters. Does not print keys that are in a file, because container logs would contain them. */
const describe = (wired: WiredClusters, proof: readonly string[], keep: string | undefined): string => {
  if (keep) return [drawLab(wired), '', `keys and tokens are in ${keep}`, '', ...proof].join('\n')
  const rows = wired.clusters.map(({ name, rootToken }) => [
    name,
    rootToken || '(none: a DR secondary accepts no token)',
  ])
  const topology = topologyOf(wired)
  const isAutoSealed = (name: string) => topology !== undefined && planOf(topology, name).seal?.type === 'auto'
  const keys = describeKeys(wired.clusters, isAutoSealed)
  return [drawLab(wired), '', formatTable([['cluster', 'root token'], ...rows]), '', ...keys, '', ...proof].join('\n')
}
