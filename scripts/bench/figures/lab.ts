import { spawn } from 'node:child_process'
import { performance } from 'node:perf_hooks'
import { residentMb } from '../machine.js'
import type { Bench } from './context.js'

/** Runs the program's command line; resolves to what it printed, or rejects with it. */
const runProgram = (program: string, args: readonly string[]): Promise<string> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
    const texts = { out: '', errors: '' }
    child.stdout.on('data', (chunk: Buffer) => (texts.out += chunk.toString('utf8')))
    child.stderr.on('data', (chunk: Buffer) => (texts.errors += chunk.toString('utf8')))
    child.once('error', reject)
    child.once('close', (status) => (status === 0 ? resolve(texts.out) : reject(new Error(texts.errors))))
  })

/** A lab of three clusters by the command line, from its start until it says that everything is replicated. */
export const measureLab = async (bench: Bench): Promise<undefined> => {
  for (let round = 0; round < Math.min(bench.rounds, 3); round++) {
    const name = `bench-${process.pid}-${round}`
    const startMs = performance.now()
    const up = await runProgram(bench.program, ['up', 'pr-dr', '--ports', 'random', '--json', '--name', name])
    bench.add('15', (performance.now() - startMs) / 1000)
    try {
      const { clusters } = JSON.parse(up) as { clusters: { name: string; process: { pid: number } }[] }
      for (const cluster of clusters)
        bench.note(`memory of lab cluster ${cluster.name}`, residentMb(cluster.process.pid), 'MB')
    } finally {
      await runProgram(bench.program, ['down', '--name', name])
    }
  }
  return undefined
}
