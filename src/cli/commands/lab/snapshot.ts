import { existsSync, statSync } from 'node:fs'
import path from 'node:path'
import { Command, Option } from 'commander'
import { requireOwnLab } from '../../../lab/model/lab-directory.js'
import { listLabs } from '../../../lab/model/state-directory.js'
import { type LabHost, thisHost } from '../../../lab/processes/lab-host.js'
import { fixedPorts, lastPortOffset, randomPorts } from '../../../lab/model/ports.js'
import { loadOver, resetLab } from '../../../lab/snapshot/reset.js'
import { keyPath, listSnapshots, snapshotPath } from '../../../lab/snapshot/kept.js'
import { checkSnapshot, readSnapshotHeader, removeSnapshot } from '../../../lab/snapshot/snapshot-file.js'
import { saveSnapshot, withSnapshot } from '../../../lab/snapshot/take-image.js'
import { upImage } from '../../../lab/lifecycle/up-snapshot.js'
import { allServersOf, planOf, type Topology } from '../../../lab/model/topology.js'
import { examples } from '../../terminal/help.js'
import { withInterrupt } from '../../terminal/interrupt.js'
import { formatTable, type Output } from '../../terminal/output.js'
import { nameOption, parsePort, parseTimeout, timeoutOption } from './options.js'

interface Flags {
  readonly name: string
  readonly timeout: string
  readonly ports?: 'fixed' | 'random'
  readonly portBase?: string
  readonly force?: true
  readonly json?: true
}

/** `understudy snapshot save|load|list|show|remove`: saves a whole lab to one file, and restores it. */
export const snapshotCommand = (output: Output, makeHost: () => LabHost = thisHost): Command => {
  const snapshot = new Command('snapshot')
    .description('save and restore the state of a lab')
    .addHelpText('after', examples('snapshot save before-the-drill', 'snapshot load before-the-drill'))
  const add = (name: string, about: string) => snapshot.command(name).description(about).exitOverride()
  add('save', 'save a consistent snapshot of all clusters, with keys, faults and clocks')
    .argument('<snapshot>', 'name, or file that ends in .snapshot')
    .addOption(nameOption())
    .option('--force', 'replace an existing snapshot')
    .option('--json', 'print JSON')
    .addHelpText('after', examples('snapshot save before-the-drill', 'snapshot save ./class.snapshot --name one'))
    .action(async (given: string, flags: Flags) => save(given, flags, output, makeHost()))
  add('load', 'restore a snapshot: replace the running lab, or create a lab')
    .argument('<snapshot>', 'name, or file')
    .addOption(nameOption())
    .addOption(timeoutOption())
    .addOption(
      new Option('--ports <choice>', 'ports of a new lab (default: the saved ports)').choices(['fixed', 'random']),
    )
    .option('--port-base <port>', 'first API port with --ports fixed')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      examples('snapshot load before-the-drill', 'snapshot load ./class.snapshot --name two --ports random'),
    )
    .action(async (given: string, flags: Flags) => load(given, flags, output, makeHost()))
  add('list', 'list the snapshots')
    .option('--json', 'print JSON')
    .addHelpText('after', examples('snapshot list', 'snapshot list --json'))
    .action(async (flags: Flags) => {
      const all = await Promise.all(listSnapshots().map(describe))
      if (flags.json) return output.data(JSON.stringify(all, undefined, 2))
      if (all.length === 0) return output.progress('there are no snapshots; "understudy snapshot save NAME" makes one')
      output.data(formatTable([['snapshot', 'lab', 'topology', 'saved', 'size'], ...all.map(toRow)]))
    })
  add('show', 'verify a snapshot and show its contents')
    .argument('<snapshot>', 'name, or file')
    .option('--json', 'print JSON')
    .addHelpText('after', examples('snapshot show before-the-drill', 'snapshot show ./class.snapshot --json'))
    .action(async (given: string, flags: Flags) => {
      const file = snapshotPath(given)
      const check = await checkSnapshot(file)
      const found = { ...(await describeFile(file)), check: check === 'whole' ? check : `not checked: ${check}` }
      if (flags.json) return output.data(JSON.stringify(found, undefined, 2))
      output.data(formatTable(Object.entries(found).map(([key, value]) => [key, String(value)])))
    })
  add('remove', 'remove a snapshot and its key')
    .argument('<snapshot>', 'name, or file')
    .addHelpText('after', examples('snapshot remove before-the-drill', 'snapshot remove ./class.snapshot'))
    .action(async (given: string) => output.progress(`removed ${await removeSnapshot(given)} and its key`))
  return snapshot
}

/** `understudy reset`: restores a lab to its state after `up`, or after `snapshot load`. */
export const resetCommand = (output: Output, makeHost: () => LabHost = thisHost): Command =>
  new Command('reset')
    .description('return a lab to its state after "up", or to the loaded snapshot')
    .addOption(nameOption())
    .addOption(timeoutOption())
    .option('--json', 'print JSON')
    .addHelpText('after', examples('reset', 'reset --name drill'))
    .action(async (flags: Flags) => {
      const host = makeHost()
      const started = host.clock.monotonic()
      const { savedAt } = await withInterrupt(({ signal }) =>
        resetLab(flags.name, { timeoutMs: parseTimeout(flags.timeout), signal }, host),
      )
      const tookMs = Math.round(host.clock.monotonic() - started)
      const seconds = (tookMs / 1000).toFixed(2)
      output.progress(`the lab "${flags.name}" is back at its start, as it was on ${savedAt}, after ${seconds} s`)
      if (flags.json) output.data(JSON.stringify({ lab: flags.name, savedAt, tookMs }, undefined, 2))
    })

const save = async (given: string, flags: Flags, output: Output, host: LabHost): Promise<void> => {
  const { file, pausedMs } = await withInterrupt(({ signal }) =>
    saveSnapshot(flags.name, given, { isForced: flags.force === true, signal }, host),
  )
  output.progress(`all clusters were read at one moment; writes waited for ${pausedMs} ms`)
  output.data(flags.json ? JSON.stringify({ file, key: keyPath(file), pausedMs }, undefined, 2) : file)
  output.progress(`its key is in ${keyPath(file)}; loading the snapshot needs both files`)
}

const load = async (given: string, flags: Flags, output: Output, host: LabHost): Promise<void> => {
  const timeoutMs = parseTimeout(flags.timeout)
  const portChoice = choosePorts(flags)
  await withInterrupt(({ signal, forceSignal }) =>
    withSnapshot(given, host, async (image) => {
      signal.throwIfAborted()
      const isThere = listLabs().includes(flags.name) && requireOwnLab(flags.name).state === 'running'
      if (isThere) await loadOver(flags.name, image, { timeoutMs, signal }, host)
      else {
        const options = { name: flags.name, timeoutMs, portChoice, onProgress: output.progress, signal, forceSignal }
        await upImage(image, options, host)
      }
      const { savedAt } = image.manifest
      output.progress(`the lab "${flags.name}" is as it was on ${savedAt}`)
      if (flags.json) output.data(JSON.stringify({ lab: flags.name, savedAt }, undefined, 2))
    }),
  )
}

const choosePorts = ({ ports, portBase }: Flags) => {
  if (ports === 'random') return (topology: Topology) => () => randomPorts(allServersOf(topology))
  if (ports === undefined && portBase === undefined) return undefined
  return (topology: Topology) => {
    const servers = allServersOf(topology)
    const base = parsePort(portBase ?? '8200', lastPortOffset(servers))
    return () => fixedPorts(servers, base, (name) => (portBase ? undefined : planOf(topology, name).ports))
  }
}

interface Described {
  readonly snapshot: string
  readonly file: string
  readonly [key: string]: unknown
}

const describe = async (name: string): Promise<Described> => {
  const file = snapshotPath(name)
  return describeFile(file).catch((error: unknown) => ({
    snapshot: name,
    file,
    problem: String((error as Error).message),
  }))
}

const describeFile = async (file: string): Promise<Described> => {
  const { lab, topology, clusters, savedAt, version } = await readSnapshotHeader(file)
  return {
    snapshot: path.basename(file, '.snapshot'),
    file,
    lab,
    topology,
    clusters: clusters.join(' '),
    savedAt,
    version,
    bytes: statSync(file).size,
    key: existsSync(keyPath(file)) ? keyPath(file) : `missing: ${keyPath(file)}`,
  }
}

const toRow = ({ snapshot, lab, topology, savedAt, bytes, problem }: Described): string[] =>
  problem === undefined
    ? [snapshot, String(lab), String(topology), String(savedAt), `${Math.ceil(Number(bytes) / 1024)} KiB`]
    : [snapshot, String(problem), '', '', '']
