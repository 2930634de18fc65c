import { fillForReads, mountEngines, setUpAppRole, requestsOf } from '../clusters.js'
import { bytesWritten, directoryBytes, residentMb } from '../machine.js'
import { median } from '../stats.js'
import type { Bench } from './context.js'

const CONNECTIONS = [1, 16, 64]
const LOGINS = 2000

export interface ThroughputRow {
  readonly work: string
  readonly connections: number
  readonly rate: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** Processor time of the server for one request. */
  readonly cpuMicros: number
}

/** Measures requests per second and latencies of every kind of request, and the bytes of a login. */
export const measureThroughput = async (bench: Bench): Promise<ThroughputRow[]> => {
  const server = await bench.server('throughput')
  await mountEngines(server)
  await fillForReads(server)
  const works = requestsOf(server, await setUpAppRole(server))
  bench.note('memory after init and unseal', residentMb(server.pid), 'MB')
  const rows: ThroughputRow[] = []
  for (const [work, requests] of Object.entries(works)) {
    for (const connections of CONNECTIONS) {
      const found = []
      for (let round = 0; round < Math.min(bench.rounds, 3); round++) {
        found.push(await bench.generator.loadWithCpu(server.pid, requests, connections, bench.seconds / 2))
      }
      rows.push({
        work,
        connections,
        rate: median(found.map(({ rate }) => rate)),
        p50Ms: median(found.map(({ p50Ms }) => p50Ms)),
        p99Ms: median(found.map(({ p99Ms }) => p99Ms)),
        cpuMicros: median(found.map(({ cpuMicros }) => cpuMicros)),
      })
    }
    bench.say(
      `${work}: ${rows
        .slice(-3)
        .map(({ rate }) => Math.round(rate))
        .join(', ')} at ${CONNECTIONS.join(', ')}`,
    )
  }
  bench.note('memory after the load', residentMb(server.pid), 'MB')
  const before = { written: bytesWritten(server.pid), onDisk: directoryBytes(server.dataDirectory) }
  const login = { ...works['AppRole login, service'], answersMax: LOGINS, warmupSeconds: 0 }
  const { answers, bytesIn, bytesOut } = await bench.generator.load(login, 16, 60)
  bench.note('bytes a login writes', (bytesWritten(server.pid) - before.written) / answers, 'B')
  bench.note(
    'bytes a login adds to the data directory',
    (directoryBytes(server.dataDirectory) - before.onDisk) / answers,
    'B',
  )
  bench.note('bytes of a login request and its response', (bytesIn + bytesOut) / answers, 'B')
  return rows
}
