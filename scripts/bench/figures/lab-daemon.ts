import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { systemClock } from '../../../src/base/clock.js'
import { LabDaemonClient } from '../../../src/lab/daemon/lab-daemon-client.js'
import type { LabDaemonConfig } from '../../../src/lab/daemon/run-lab-daemon.js'
import { LAB_DAEMON_NODE_OPTIONS, LAB_DAEMON_PROGRAM } from '../../../src/lab/processes/launch.js'
import { randomPorts } from '../../../src/lab/model/ports.js'
import { waitFor } from '../../../src/lab/requests/wait.js'
import { becomePrimary, follow, mountEngines, SECRET, waitForReplication } from '../clusters.js'
import { cpuMs, readsAndWrites, residentMb } from '../machine.js'
import { lastIndex } from '../position.js'
import type { BenchServer } from '../servers.js'
import { median } from '../stats.js'
import type { Bench } from './context.js'

const CONNECTIONS = 64
const WAIT_MS = 30_000

/** A lab daemon with one link. */
interface RunningLabDaemon {
  readonly pid: number
  /** The address of the proxy in front of the target. */
  readonly address: string
  close(): Promise<void>
}

const startLabDaemon = async (bench: Bench, target: string): Promise<RunningLabDaemon> => {
  const directory = mkdtempSync(path.join(tmpdir(), 'understudy-bench-'))
  const port = (await randomPorts(['daemon'])).get('daemon')?.cluster
  if (port === undefined) throw new Error('no ports are free')
  const socket = path.join(directory, 'daemon.sock')
  const config: LabDaemonConfig = {
    lab: 'bench',
    directory,
    socket,
    routes: [{ from: 'B', to: 'A', address: target, port }],
    clusters: [],
    toxiproxyPort: null,
  }
  const file = path.join(directory, 'daemon.json')
  writeFileSync(file, JSON.stringify(config))
  const args = [...LAB_DAEMON_NODE_OPTIONS, path.join(bench.dist, LAB_DAEMON_PROGRAM), `-config=${file}`]
  const child: ChildProcess = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] })
  const exited = new Promise((resolve) => child.once('exit', resolve))
  const kill = () => void child.kill('SIGKILL')
  process.once('exit', kill)
  const answers = async () => {
    await new LabDaemonClient(socket).list()
    return undefined
  }
  await waitFor(systemClock, 'the lab daemon to respond', answers, WAIT_MS)
  return {
    pid: child.pid ?? 0,
    address: `127.0.0.1:${port}`,
    close: async () => {
      process.off('exit', kill)
      child.kill()
      await exited
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

/** Returns the writes per second from the first request until the secondary has the last write. */
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

const pairMs = ({ primary, secondary }: Pair): number => cpuMs(primary.pid) + cpuMs(secondary.pid)

interface Measured {
  readonly rate: number
  /** Processor time of both servers for one write, in microseconds. */
  readonly pairUs: number
}

const measurePair = async (bench: Bench, pair: Pair): Promise<Measured> => {
  const beforeMs = pairMs(pair)
  const rate = await writesPerSecond(bench, pair)
  return { rate, pairUs: ((pairMs(pair) - beforeMs) * 1000) / (rate * bench.seconds) }
}

/** Measures a pair like `measurePair`, and the cost of the lab daemon between its servers. */
const measureThrough = async (bench: Bench, pair: Pair, { pid }: RunningLabDaemon): Promise<Measured> => {
  const [beforeMs, callsBefore] = [cpuMs(pid), readsAndWrites(pid)]
  const measured = await measurePair(bench, pair)
  const writes = measured.rate * bench.seconds
  const daemonUs = ((cpuMs(pid) - beforeMs) * 1000) / writes
  bench.note('lab daemon: its share of the processor time', (100 * daemonUs) / (daemonUs + measured.pairUs), '%')
  bench.note('lab daemon: processor time of a write', daemonUs, 'us')
  bench.note('lab daemon: read and write calls for one write', (readsAndWrites(pid) - callsBefore) / writes, '')
  return measured
}

/** Figure 16d: measures a direct pair and a pair with a lab daemon alternately. Both pairs run all the time. */
export const measureLabDaemon = async (bench: Bench): Promise<undefined> => {
  let daemon: RunningLabDaemon | undefined
  const advertised = async (port: number) => {
    daemon = await startLabDaemon(bench, `127.0.0.1:${port}`)
    return daemon.address
  }
  try {
    const through = await openPair(bench, 'through', advertised)
    const direct = await openPair(bench, 'direct')
    const between = daemon
    if (!between) throw new Error('the server requested no address')
    for (const pair of [direct, through]) await writesPerSecond(bench, pair)
    const lost: number[] = []
    for (let round = 0; round < Math.max(bench.rounds, 3); round++) {
      // The order alternates, because the speed of the machine changes during a round.
      const isFirst = round % 2 === 1
      const before = isFirst ? await measureThrough(bench, through, between) : undefined
      const directly = await measurePair(bench, direct)
      const by = before ?? (await measureThrough(bench, through, between))
      bench.note('lab daemon: writes per second without it', directly.rate, '/s')
      bench.note('lab daemon: writes per second with it', by.rate, '/s')
      bench.note('lab daemon: processor time of both servers for a write, without it', directly.pairUs, 'us')
      bench.note('lab daemon: processor time of both servers for a write, with it', by.pairUs, 'us')
      lost.push(100 * (1 - by.rate / directly.rate))
    }
    bench.add('16d', median(lost))
    bench.note('lab daemon: memory after all rounds', residentMb(between.pid), 'MB')
  } finally {
    await daemon?.close()
  }
  return undefined
}
