import { performance } from 'node:perf_hooks'
import { systemClock } from '../../../src/base/clock.js'
import { nodeAloneMs, runNode } from '../child.js'
import { NODE_ALONE } from '../goals.js'
import { cpuMs, residentMb } from '../machine.js'
import { BenchServer } from '../servers.js'
import { alternating } from '../stats.js'
import type { Bench } from './context.js'

/** The JavaScript engine collects the garbage of a start after about eight seconds without work. */
const REST_MS = 12_000

/**
 * Figure 14: one empty server, from the start of its process to its first response, and its memory at rest. The time of
 * a start depends on other processes, so its processor time is compared with that of an empty Node program.
 */
export const measureStart = async (bench: Bench): Promise<undefined> => {
  for (let round = 0; round < Math.max(bench.rounds, 3); round++) {
    bench.note(NODE_ALONE, await nodeAloneMs(), 'ms')
    bench.note(
      'memory of an empty Node program',
      Number(await runNode(['-p', 'process.memoryUsage.rss() / 2 ** 20'])),
      'MB',
    )
    for (const { program, add } of alternating(bench.builds, round)) {
      const server = await BenchServer.prepare({ program, name: 'empty' })
      try {
        const startMs = performance.now()
        await server.start()
        add('14a', (performance.now() - startMs) / 1000)
        add('14c', cpuMs(server.pid) / (await bareCpuMs()))
        await server.initialize()
        await systemClock.sleep(REST_MS)
        add('14b', residentMb(server.pid))
      } finally {
        await server.remove()
      }
    }
  }
  return undefined
}

/** Returns the processor time of a Node program that exits at once. */
const bareCpuMs = async (): Promise<number> => {
  const micros = Number(await runNode(['-p', 'const { user, system } = process.cpuUsage(); user + system']))
  return micros / 1000
}
