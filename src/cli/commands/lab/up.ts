import { Command, Option } from 'commander'
import type { LabRecord } from '../../../lab/cluster.js'
import { LabError } from '../../../lab/lab-error.js'
import { labDirectory } from '../../../lab/lifecycle/lab-directory.js'
import { type LabHost, thisHost } from '../../../lab/lifecycle/lab-host.js'
import { upLab } from '../../../lab/lifecycle/up.js'
import { drawLab } from '../../../lab/picture.js'
import { fixedPorts, lastPortOffset, type PortPair, randomPorts } from '../../../lab/ports.js'
import { proveReplication } from '../../../lab/proof.js'
import {
  listTopologies,
  requireTopology,
  readTopologyFile,
  TOPOLOGY_NAMES,
  type Topology,
} from '../../../lab/topology.js'
import { withInterrupt } from '../../interrupt.js'
import { formatTable, type Output } from '../../output.js'
import { nameOption, parsePort, parseShamir, parseTimeout, timeoutOption } from './options.js'

interface UpFlags {
  readonly name: string
  readonly file?: string
  readonly timeout: string
  readonly ports: string
  readonly portBase: string
  readonly shamir: string
  readonly dataDir?: string
  readonly json?: true
  readonly prove?: true
}

/** `understudy up`: a topology of real server processes, replicated when the command returns. */
export const upCommand = (output: Output, makeHost: () => LabHost = thisHost): Command =>
  new Command('up')
    .description('bring a topology of clusters up and wait until it is replicated; without one, list them')
    .argument('[topology]', TOPOLOGY_NAMES.join(', '))
    .option('-f, --file <file>', 'a topology of your own, as a YAML file')
    .addOption(nameOption())
    .addOption(timeoutOption())
    .addOption(
      new Option('--ports <choice>', 'fixed (8200 + 10 x cluster) or random')
        .choices(['fixed', 'random'])
        .default('fixed'),
    )
    .option('--port-base <port>', 'first API port with --ports fixed', '8200')
    .option('--shamir <shares/threshold>', 'key shares of each cluster', '1/1')
    .option('--data-dir <directory>', 'where the data goes, in a directory of its own there')
    .option('--prove', 'write a secret and show where it arrives')
    .option('--json', 'print the lab as JSON')
    .addHelpText(
      'after',
      '\nExamples:\n  understudy up pr-dr --prove\n  understudy up dr --name drill --ports random --shamir 5/3\n  understudy up -f topology.yaml --ports random',
    )
    .action(async (name: string | undefined, flags: UpFlags) => {
      if (name === undefined && flags.file === undefined) {
        output.data(formatTable(listTopologies().map((known) => [known.name, known.about])))
        return
      }
      const topology = chooseTopology(name, flags.file)
      // A name that is none is refused before anything else is looked at.
      labDirectory(flags.name)
      const { shares, threshold } = parseShamir(flags.shamir)
      const timeoutMs = parseTimeout(flags.timeout)
      const host = makeHost()
      const { clock } = host
      const choosePorts = portChoice(topology, flags)
      const started = clock.monotonic()
      await withInterrupt(async ({ signal, hurry }) => {
        const options = { name: flags.name, topology, choosePorts, shares, threshold, timeoutMs, settings: {}, clock }
        const lab = await upLab(
          { ...options, dataDir: flags.dataDir, onProgress: output.progress, signal, hurry },
          host,
        )
        output.progress(`replicated after ${((clock.monotonic() - started) / 1000).toFixed(1)} s`)
        const sentences = flags.prove ? await proveReplication(lab, clock, timeoutMs) : []
        output.data(
          flags.json ? JSON.stringify({ ...lab, proof: sentences }, undefined, 2) : describeLab(lab, sentences),
        )
      })
    })

const chooseTopology = (name: string | undefined, file: string | undefined): Topology => {
  if (name !== undefined && file !== undefined) throw new LabError('usage', 'give a topology or a --file, not both')
  return file === undefined ? requireTopology(name ?? '') : readTopologyFile(file)
}

/** What is wrong with the flags is said at once, which ports are free is asked later. */
const portChoice = ({ clusters }: Topology, flags: UpFlags): (() => Promise<Map<string, PortPair>>) => {
  if (flags.ports === 'random') return () => randomPorts(clusters)
  const base = parsePort(flags.portBase, lastPortOffset(clusters))
  return () => fixedPorts(clusters, base)
}

const describeLab = (lab: LabRecord, sentences: readonly string[]): string => {
  const rows = lab.clusters.map(({ name, apiAddress, rootToken, unsealKeys }) => [
    name,
    apiAddress,
    rootToken || '(none: a DR secondary serves nobody)',
    unsealKeys.join(' '),
  ])
  return [
    drawLab(lab),
    '',
    formatTable([['cluster', 'address', 'root token', 'unseal keys'], ...rows]),
    '',
    ...(sentences.length > 0 ? [...sentences, ''] : []),
    describeNext(lab.name),
  ].join('\n')
}

/** Commands that go on with a lab. */
const describeNext = (lab: string): string => {
  const named = lab === 'default' ? '' : ` --name ${lab}`
  return `Next: eval "$(understudy env A${named})"; understudy status${named}; understudy down${named}`
}
