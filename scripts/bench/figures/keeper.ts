import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { systemClock } from '../../../src/base/clock.js'
import { KeeperClient } from '../../../src/lab/keeper/keeper-client.js'
import type { KeeperConfig } from '../../../src/lab/keeper/run-keeper.js'
import { KEEPER_NODE_OPTIONS, KEEPER_PROGRAM } from '../../../src/lab/lifecycle/keeper-process.js'
import { randomPorts } from '../../../src/lab/ports.js'
import { waitFor } from '../../../src/lab/wait.js'
import { becomePrimary, follow, mountEngines, SECRET, waitForReplication } from '../clusters.js'
import { cpuMs, processorTicks, residentMb } from '../machine.js'
import { lastIndex } from '../position.js'
import type { BenchServer } from '../servers.js'
import { median } from '../stats.js'
import type { Bench } from './context.js'

const CONNECTIONS = 64
const WAIT_MS = 30_000

/** A keeper with one link, as a lab has it. */
interface RunningKeeper {
  readonly pid: number
  /** What is to be dialled instead of the target. */
  readonly address: string
  close(): Promise<void>
}

const startKeeper = async (bench: Bench, target: string): Promise<RunningKeeper> => {
  const directory = mkdtempSync(path.join(tmpdir(), 'understudy-bench-'))
  const port = (await randomPorts(['keeper'])).get('keeper')?.cluster
  if (port === undefined) throw new Error('no ports are free')
  const config: KeeperConfig = {
    lab: 'bench',
    directory,
    socket: path.join(directory, 'keeper.sock'),
    routes: [{ from: 'B', to: 'A', address: target, port }],
    clusters: [],
    toxiproxyPort: null,
  }
  const file = path.join(directory, 'keeper.json')
  writeFileSync(file, JSON.stringify(config))
  const args = [...KEEPER_NODE_OPTIONS, path.join(bench.dist, KEEPER_PROGRAM), `-config=${file}`]
  const child: ChildProcess = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] })
  const gone = new Promise((resolve) => child.once('exit', resolve))
  const kill = () => void child.kill('SIGKILL')
  process.once('exit', kill)
  const answers = async () => {
    await new KeeperClient(config.socket).list()
    return undefined
  }
  await waitFor(systemClock, 'the keeper to answer', answers, WAIT_MS)
  return {
    pid: child.pid ?? 0,
    address: `127.0.0.1:${port}`,
    close: async () => {
      process.off('exit', kill)
      child.kill()
      await gone
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

interface Pair {
  readonly primary: BenchServer
  readonly secondary: BenchServer
}

const openPair = async (bench: Bench, name: string, advertised?: (port: number) => Promise<string>): Promise<Pair> => {
  const primary = await bench.server(`${name}-primary`, advertised ? { advertised } : {})
  const secondary = await bench.server(`${name}-secondary`)
  await mountEngines(primary)
  await becomePrimary(primary)
  await follow(primary, secondary)
  return { primary, secondary }
}

/** Writes a second that arrived on the other side, from the first to the last of them. */
const writesPerSecond = async (bench: Bench, { primary, secondary }: Pair): Promise<number> => {
  const write = {
    port: primary.apiPort,
    method: 'PUT',
    path: '/v1/kv1/k{n}',
    headers: { 'X-Vault-Token': primary.rootToken },
    body: JSON.stringify(SECRET),
    spread: 10_000,
    warmupSeconds: 0,
  }
  const before = await lastIndex(primary.client())
  const startMs = performance.now()
  await bench.generator.load(write, CONNECTIONS, bench.seconds)
  await waitForReplication(primary, secondary)
  return (((await lastIndex(primary.client())) - before) * 1000) / (performance.now() - startMs)
}

/** Figure 16d: a pair that dials each other, and one with a keeper between them, in turns; both stand all the time. */
export const measureKeeper = async (bench: Bench): Promise<undefined> => {
  let keeper: RunningKeeper | undefined
  const advertised = async (port: number) => {
    keeper = await startKeeper(bench, `127.0.0.1:${port}`)
    return keeper.address
  }
  try {
    const through = await openPair(bench, 'through', advertised)
    const direct = await openPair(bench, 'direct')
    if (!keeper) throw new Error('the server asked for no address')
    for (const pair of [direct, through]) await writesPerSecond(bench, pair)
    const lost: number[] = []
    for (let round = 0; round < Math.max(bench.rounds, 3); round++) {
      const directly = await writesPerSecond(bench, direct)
      const pids = [keeper.pid, through.primary.pid, through.secondary.pid]
      const before = pids.map(processorTicks)
      const beforeMs = cpuMs(keeper.pid)
      const by = await writesPerSecond(bench, through)
      const used = pids.map(processorTicks).map((after, index) => after - (before[index] ?? 0))
      bench.note('keeper: writes a second directly', directly, '/s')
      bench.note('keeper: writes a second by a keeper', by, '/s')
      bench.note('keeper: share of the processor time of the pair', (100 * (used[0] ?? 0)) / sum(used), '%')
      bench.note(
        'keeper: processor time of a write',
        ((cpuMs(keeper.pid) - beforeMs) * 1000) / (by * bench.seconds),
        'us',
      )
      lost.push(100 * (1 - by / directly))
    }
    bench.add('16d', median(lost))
    bench.note('keeper: memory after all that', residentMb(keeper.pid), 'MB')
  } finally {
    await keeper?.close()
  }
  return undefined
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)
