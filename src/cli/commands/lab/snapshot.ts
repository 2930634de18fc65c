import { existsSync, statSync } from 'node:fs'
import path from 'node:path'
import type { Command } from 'commander'
import { requireOwnLab } from '../../../lab/model/lab-directory.js'
import { listLabs } from '../../../lab/model/state-directory.js'
import { thisHost } from '../../../lab/processes/lab-host.js'
import { loadOver, resetLab } from '../../../lab/snapshot/reset.js'
import { keyPath, listSnapshots, snapshotPath } from '../../../lab/snapshot/stored.js'
import { checkSnapshot, readSnapshotHeader, removeSnapshot } from '../../../lab/snapshot/snapshot-file.js'
import { saveSnapshot, withSnapshot } from '../../../lab/snapshot/take-image.js'
import { upImage } from '../../../lab/lifecycle/up-snapshot.js'
import type { Topology } from '../../../lab/model/topology.js'
import { TypedCommand } from '../../terminal/command.js'
import { confirmErasure, YES } from '../../terminal/confirm.js'
import { withInterrupt } from '../../terminal/interrupt.js'
import { formatTable, type Output } from '../../terminal/output.js'
import { parseTimeout, portChoice } from './options.js'

/** `understudy snapshot save|load|list|show|remove`: saves a whole lab to one file, and restores it. */
export const snapshotCommand = (output: Output): Command => {
  const snapshot = new TypedCommand('snapshot')
    .description('save and restore the state of a lab')
    .examples('snapshot save before-the-drill', 'snapshot load before-the-drill')
  const add = (name: string, about: string) => snapshot.command(name).description(about)
  add('save', 'save a consistent snapshot of all clusters')
    .argument('<snapshot>', 'name, or file that ends in .snapshot')
    .lab()
    .flag('--force', 'replace an existing snapshot')
    .json()
    .examples('snapshot save before-the-drill', 'snapshot save ./class.snapshot --name one')
    .run(async (flags, given: string) => {
      const { file, pausedMs } = await withInterrupt(({ signal }) =>
        saveSnapshot(flags.name, given, { isForced: flags.force === true, signal }, thisHost()),
      )
      output.data(flags.json ? JSON.stringify({ file, key: keyPath(file), pausedMs }, undefined, 2) : file)
      output.progress(`its key is in ${keyPath(file)}; loading the snapshot requires both files`)
    })
  add('load', 'restore a snapshot to a running lab or to a new lab')
    .argument('<snapshot>', 'name, or file that ends in .snapshot')
    .lab()
    .timeout()
    .choice('--ports <choice>', 'ports of a new lab (default: the saved ports)', ['fixed', 'random'])
    .flag('--port-base <port>', 'first API port; implies --ports fixed (default: 8200)')
    .flag(...YES)
    .json()
    .examples('snapshot load before-the-drill', 'snapshot load ./class.snapshot --name two --ports random')
    .run(async ({ name, timeout, json, yes, ...ports }, given: string) => {
      const timeoutMs = parseTimeout(timeout)
      const portChoice = choosePorts(ports)
      const host = thisHost()
      await withInterrupt(({ signal, forceSignal }) =>
        withSnapshot(given, host, async (image) => {
          signal.throwIfAborted()
          const isLabRunning = listLabs().includes(name) && requireOwnLab(name).state === 'running'
          const onErase = confirmErasure(output, yes === true, signal)
          if (isLabRunning) await loadOver(name, image, { timeoutMs, signal, onErase }, host)
          else await upImage(image, { name, timeoutMs, portChoice, signal, forceSignal }, host)
          const { savedAt } = image.manifest
          output.progress(`the lab "${name}" was restored to its state at ${savedAt}`)
          if (json) output.data(JSON.stringify({ lab: name, savedAt }, undefined, 2))
        }),
      )
    })
  add('list', 'list the snapshots')
    .json()
    .examples('snapshot list', 'snapshot list --json')
    .run(async (flags) => {
      const all = await Promise.all(listSnapshots().map(describe))
      if (flags.json) return output.data(JSON.stringify(all, undefined, 2))
      if (all.length === 0)
        return output.progress('there are no snapshots; "understudy snapshot save NAME" creates one')
      output.data(formatTable([['snapshot', 'lab', 'topology', 'saved', 'size'], ...all.map(toRow)]))
    })
  add('show', 'verify a snapshot and show its contents')
    .argument('<snapshot>', 'name, or file')
    .json()
    .examples('snapshot show before-the-drill', 'snapshot show ./class.snapshot --json')
    .run(async (flags, given: string) => {
      const file = snapshotPath(given)
      const check = await checkSnapshot(file)
      const found = { ...(await describeFile(file)), check: check === 'whole' ? check : `not checked: ${check}` }
      if (flags.json) return output.data(JSON.stringify(found, undefined, 2))
      output.data(formatTable(Object.entries(found).map(([key, value]) => [key, String(value)])))
    })
  add('remove', 'remove a snapshot and its key')
    .argument('<snapshot>', 'name, or file')
    .flag(...YES)
    .examples('snapshot remove before-the-drill', 'snapshot remove ./class.snapshot')
    .run(async ({ yes }, given: string) => {
      const file = snapshotPath(given)
      if (existsSync(file)) await confirmErasure(output, yes === true)(`the snapshot ${file} and its key are erased`)
      output.progress(`removed ${await removeSnapshot(given)} and its key`)
    })
  return snapshot
}

/** `understudy reset`: restores a lab to its state after `up`, or after `snapshot load`. */
export const resetCommand = (output: Output): Command =>
  new TypedCommand('reset')
    .description('restore a lab to its state after "up" or "snapshot load"')
    .lab()
    .timeout()
    .flag(...YES)
    .json()
    .examples('reset', 'reset --name drill')
    .run(async (flags) => {
      const host = thisHost()
      const started = host.clock.monotonic()
      const timeoutMs = parseTimeout(flags.timeout)
      const { savedAt } = await withInterrupt(({ signal }) =>
        resetLab(flags.name, { timeoutMs, signal, onErase: confirmErasure(output, flags.yes === true, signal) }, host),
      )
      const tookMs = Math.round(host.clock.monotonic() - started)
      const seconds = (tookMs / 1000).toFixed(2)
      output.progress(`the lab "${flags.name}" was reset to its state at ${savedAt} in ${seconds} s`)
      if (flags.json) output.data(JSON.stringify({ lab: flags.name, savedAt, tookMs }, undefined, 2))
    })

const choosePorts = ({ ports, portBase }: { readonly ports?: 'fixed' | 'random'; readonly portBase?: string }) => {
  if (ports === undefined && portBase === undefined) return undefined
  return (topology: Topology, former: ReadonlySet<number>) => portChoice(topology, { ports, portBase }, former)
}

/** A row of the list of snapshots. `problem`: why the file cannot be read. */
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
