import { spawn } from 'node:child_process'
import { performance } from 'node:perf_hooks'
import { ApiClient } from '../../../src/client/api-client.js'
import { processorTicks, residentMb } from '../machine.js'
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

interface UpLab {
  readonly keeper: { readonly process: { readonly pid: number } }
  readonly clusters: readonly {
    readonly name: string
    readonly apiAddress: string
    readonly rootToken: string
    readonly process: { readonly pid: number }
  }[]
}

const WRITERS = 16

/** What the keeper costs while all that is written goes through its links. */
const measureKeeper = async (bench: Bench, { keeper, clusters }: UpLab): Promise<void> => {
  const [primary] = clusters
  if (!primary) return
  const client = new ApiClient({ address: primary.apiAddress, token: primary.rootToken })
  await client.write('sys/mounts/bench', { type: 'kv' })
  const pids = clusters.map(({ process }) => process.pid)
  const ticks = () => [keeper.process.pid, ...pids].map(processorTicks)
  const before = ticks()
  const endMs = performance.now() + bench.seconds * 1000
  const write = async (writer: number) => {
    for (let count = 0; performance.now() < endMs; count++)
      await client.write(`bench/${writer}-${count % 100}`, { value: 'x'.repeat(256) })
  }
  await Promise.all(Array.from({ length: WRITERS }, (_, writer) => write(writer)))
  const used = ticks().map((after, index) => after - (before[index] ?? 0))
  client.close()
  bench.add('16a', residentMb(keeper.process.pid))
  bench.add('16b', (100 * (used[0] ?? 0)) / used.reduce((sum, one) => sum + one, 0))
}

/** A lab of three clusters by the command line, from its start until it says that everything is replicated. */
export const measureLab = async (bench: Bench): Promise<undefined> => {
  for (let round = 0; round < Math.min(bench.rounds, 3); round++) {
    const name = `bench-${process.pid}-${round}`
    const startMs = performance.now()
    const up = await runProgram(bench.program, ['up', 'pr-dr', '--ports', 'random', '--json', '--name', name])
    bench.add('15', (performance.now() - startMs) / 1000)
    try {
      const lab = JSON.parse(up) as UpLab
      const { clusters } = lab
      await measureKeeper(bench, lab)
      for (const cluster of clusters)
        bench.note(`memory of lab cluster ${cluster.name}`, residentMb(cluster.process.pid), 'MB')
    } finally {
      await runProgram(bench.program, ['down', '--name', name])
    }
  }
  return undefined
}
