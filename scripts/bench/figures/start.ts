import { performance } from 'node:perf_hooks'
import { systemClock } from '../../../src/base/clock.js'
import { runNode } from '../child.js'
import { cpuMs, residentMb } from '../machine.js'
import { BenchServer } from '../servers.js'
import type { Bench } from './context.js'

const SOON_MS = 1000
/** Its engine collects what a start has left behind when it has had nothing to do for some eight seconds. */
const REST_MS = 12_000

/**
 * Figure 14: one empty server, from the start of its process to its first answer, and its memory when nothing happens. How
 * long a start takes depends on what else the machine does, so its processor time stands beside that of a node that starts
 * for nothing.
 */
export const measureStart = async (bench: Bench): Promise<undefined> => {
  for (let round = 0; round < Math.max(bench.rounds, 3); round++) {
    const server = await BenchServer.prepare({ program: bench.program, name: 'empty' })
    try {
      const startMs = performance.now()
      await server.start()
      bench.add('14a', (performance.now() - startMs) / 1000)
      bench.add('14c', cpuMs(server.pid) / (await bareCpuMs()))
      const answeredMs = performance.now()
      await server.initialize()
      bench.note('init and unseal', performance.now() - answeredMs, 'ms')
      await systemClock.sleep(SOON_MS)
      bench.note('memory a second after the start', residentMb(server.pid), 'MB')
      await systemClock.sleep(REST_MS - SOON_MS)
      bench.add('14b', residentMb(server.pid))
    } finally {
      await server.remove()
    }
  }
  return undefined
}

/** Processor time of a node that starts and ends. */
const bareCpuMs = async (): Promise<number> => {
  const micros = Number(await runNode(['-p', 'const { user, system } = process.cpuUsage(); user + system']))
  return micros / 1000
}
