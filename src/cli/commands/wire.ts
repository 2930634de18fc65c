import { accessSync, constants, existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { Command, Option } from 'commander'
import { type Clock, systemClock } from '../../base/clock.js'
import { parseDurationMs } from '../../base/duration.js'
import type { WiredClusters } from '../../lab/cluster.js'
import { LabError } from '../../lab/lab-error.js'
import { drawLab } from '../../lab/picture.js'
import { proveReplication } from '../../lab/proof.js'
import { wireClusters } from '../../lab/wire.js'
import { requireTopology } from './lab/options.js'
import { formatTable, type Output } from '../output.js'
import { examples } from '../help.js'

interface WireFlags {
  readonly topology: string
  readonly timeout: string
  readonly keep?: string
  readonly json?: true
}

/** `understudy wire`: makes a topology of servers that somebody else started, such as the containers of a compose file. */
export const wireCommand = (output: Output, clock: Clock = systemClock): Command =>
  new Command('wire')
    .description('initialise, unseal and join servers that run already, and prove that they replicate')
    .argument('<clusters...>', 'where each cluster is, such as A=http://a:8200')
    .requiredOption('--topology <name>', 'dr, pr, pr-dr, ...')
    .addOption(new Option('--timeout <duration>', 'bound on each wait, such as 30s').default('60s'))
    .option('--keep <file>', 'where keys and tokens are kept, so that a second run opens the same clusters again')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      examples(
        'wire --topology dr A=http://a:8200 B=http://b:8200',
        'wire --topology pr-dr --keep keys.json A=http://a:8200 B=http://b:8200 C=http://c:8200',
      ),
    )
    .action(async (given: string[], flags: WireFlags) => {
      const topology = requireTopology(flags.topology)
      const timeoutMs = parseDurationMs(flags.timeout)
      if (!timeoutMs) throw new LabError('usage', `"${flags.timeout}" is not a duration such as 30s`)
      const onProgress = output.progress
      const options = { shares: 1, threshold: 1, timeoutMs, clock, onProgress }
      if (flags.keep) requireWritable(flags.keep)
      const wired = await wireClusters(topology, parseAddresses(given), readKept(flags.keep), options)
      if (flags.keep) writeFileSync(flags.keep, `${JSON.stringify(wired, undefined, 2)}\n`, { mode: 0o600 })
      const proof = await proveReplication(wired, clock, timeoutMs)
      output.data(flags.json ? JSON.stringify({ ...wired, proof }, undefined, 2) : describe(wired, proof))
    })

/** The keys are lost when it turns out at the end that nobody can write them. */
const requireWritable = (file: string): void => {
  try {
    accessSync(existsSync(file) ? file : path.dirname(path.resolve(file)), constants.W_OK)
  } catch (error) {
    throw new LabError('usage', `${file} cannot be written: ${error instanceof Error ? error.message : String(error)}`)
  }
}

const parseAddresses = (given: readonly string[]): Map<string, string> =>
  new Map(
    given.map((text) => {
      const match = /^([A-Z])=(https?:\/\/.+)$/.exec(text)
      if (!match) throw new LabError('usage', `"${text}" is not of the form A=http://host:8200`)
      return [match[1] ?? '', match[2] ?? '']
    }),
  )

const readKept = (file: string | undefined): WiredClusters | undefined => {
  if (!file || !existsSync(file)) return undefined
  try {
    const kept = JSON.parse(readFileSync(file, 'utf8')) as Partial<WiredClusters> | null
    if (Array.isArray(kept?.clusters)) return kept as WiredClusters
  } catch {
    // Said below, as for a file of another kind.
  }
  throw new LabError('usage', `${file} does not hold the keys of clusters; give another --keep, or remove it`)
}

const describe = (wired: WiredClusters, proof: readonly string[]): string => {
  const rows = wired.clusters.map(({ name, rootToken, unsealKeys }) => [
    name,
    rootToken || '(none: a DR secondary serves nobody)',
    unsealKeys.join(' '),
  ])
  return [drawLab(wired), '', formatTable([['cluster', 'root token', 'unseal keys'], ...rows]), '', ...proof].join('\n')
}
