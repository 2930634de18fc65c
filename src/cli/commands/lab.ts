import { Command, Option } from 'commander'
import { type Clock, systemClock } from '../../base/clock.js'
import { parseDurationMs } from '../../base/duration.js'
import type { LabRecord } from '../../lab/cluster.js'
import { downLab, upLab } from '../../lab/lab.js'
import { LabError } from '../../lab/lab-error.js'
import { requireLab } from '../../lab/lab-files.js'
import { drawLab } from '../../lab/picture.js'
import { fixedPorts, randomPorts } from '../../lab/ports.js'
import { proveReplication } from '../../lab/proof.js'
import { surveyLab } from '../../lab/survey.js'
import { findTopology, TOPOLOGIES } from '../../lab/topology.js'
import { formatTable, type Output } from '../output.js'

const NAME = new Option('--name <lab>', 'name of the lab').default('default')
const TIMEOUT = new Option('--timeout <duration>', 'bound on each wait, such as 30s').default('30s')

const milliseconds = (text: string): number => {
  const ms = parseDurationMs(text)
  if (ms === undefined || ms <= 0) throw new LabError('usage', `"${text}" is not a duration such as 30s`)
  return ms
}

interface UpFlags {
  readonly name: string
  readonly timeout: string
  readonly ports: string
  readonly portBase: string
  readonly shamir: string
  readonly json?: true
  readonly prove?: true
}

/** `understudy up`: a topology of real server processes, replicated when the command returns. */
export const upCommand = (output: Output, clock: Clock = systemClock): Command =>
  new Command('up')
    .description('bring a topology of clusters up and wait until it is replicated')
    .argument('<topology>', TOPOLOGIES.map(({ name, about }) => `${name}: ${about}`).join('; '))
    .addOption(NAME)
    .addOption(TIMEOUT)
    .addOption(
      new Option('--ports <choice>', 'fixed (8200 + 10 x cluster) or random')
        .choices(['fixed', 'random'])
        .default('fixed'),
    )
    .option('--port-base <port>', 'first API port with --ports fixed', '8200')
    .option('--shamir <shares/threshold>', 'key shares of each cluster', '1/1')
    .option('--prove', 'write a secret and show where it arrives')
    .option('--json', 'print the lab as JSON')
    .action(async (name: string, flags: UpFlags) => {
      const topology = findTopology(name)
      if (!topology)
        throw new LabError(
          'usage',
          `there is no topology "${name}"; there are ${TOPOLOGIES.map((known) => known.name).join(', ')}`,
        )
      const { shares, threshold } = parseShamir(flags.shamir)
      const timeoutMs = milliseconds(flags.timeout)
      const ports =
        flags.ports === 'random'
          ? await randomPorts(topology.clusters)
          : await fixedPorts(topology.clusters, Number(flags.portBase))
      const started = clock.monotonic()
      const lab = await upLab({
        name: flags.name,
        topology,
        ports,
        shares,
        threshold,
        timeoutMs,
        settings: {},
        clock,
        onProgress: output.progress,
      })
      output.progress(`replicated after ${((clock.monotonic() - started) / 1000).toFixed(1)} s`)
      const sentences = flags.prove ? await proveReplication(lab, clock, timeoutMs) : []
      output.data(flags.json ? JSON.stringify({ ...lab, proof: sentences }, undefined, 2) : describeLab(lab, sentences))
    })

const parseShamir = (text: string): { shares: number; threshold: number } => {
  const match = /^(\d{1,3})\/(\d{1,3})$/.exec(text)
  if (!match) throw new LabError('usage', `"${text}" is not of the form shares/threshold, such as 5/3`)
  return { shares: Number(match[1]), threshold: Number(match[2]) }
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
    describeNext(lab.name === 'default' ? '' : ` --name ${lab.name}`),
  ].join('\n')
}

/** Commands that go on with a lab; `named` is the flag that says which. */
const describeNext = (named: string): string =>
  `Next: eval "$(understudy env A${named})"; understudy status${named}; understudy down${named}`

/** `understudy status`: roles, states and roots of all clusters. */
export const statusCommand = (output: Output): Command =>
  new Command('status')
    .description('show roles, states and merkle roots of all clusters of a lab')
    .addOption(NAME)
    .option('--json', 'print JSON')
    .action(async (flags: { name: string; json?: true }) => {
      const lab = requireLab(flags.name)
      const survey = await surveyLab(lab)
      if (flags.json) {
        output.data(JSON.stringify(survey, undefined, 2))
        return
      }
      const header = ['cluster', 'process', 'health', 'dr', 'performance', 'merkle root']
      output.data(
        formatTable([
          header,
          ...survey.map((row) => [row.name, row.process, row.health, row.dr, row.performance, row.merkleRoot]),
        ]),
      )
    })

/** `understudy env A`: what a shell has to set to talk to a cluster. */
export const envCommand = (output: Output): Command =>
  new Command('env')
    .description('print the environment of a client of one cluster, for eval')
    .argument('<cluster>', 'A, B, ...')
    .addOption(NAME)
    .action((cluster: string, flags: { name: string }) => {
      const lab = requireLab(flags.name)
      const found = lab.clusters.find(({ name }) => name === cluster)
      if (!found)
        throw new LabError(
          'usage',
          `the lab has no cluster "${cluster}"; it has ${lab.clusters.map(({ name }) => name).join(', ')}`,
        )
      output.data(`export VAULT_ADDR=${found.apiAddress}`)
      output.data(found.rootToken === '' ? 'unset VAULT_TOKEN' : `export VAULT_TOKEN=${found.rootToken}`)
    })

/** `understudy down`: stops the servers and removes their data. A lab that is not there is down already. */
export const downCommand = (output: Output, clock: Clock = systemClock): Command =>
  new Command('down')
    .description('stop a lab and remove its data')
    .addOption(NAME)
    .action(async (flags: { name: string }) => {
      const wasThere = await downLab(flags.name, clock)
      output.progress(wasThere ? `the lab "${flags.name}" is down` : `there is no lab "${flags.name}"`)
    })
