import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { runNode } from '../child.js'
import type { Bench } from './context.js'

interface Times {
  readonly importMs: number
  readonly startMs: number
  readonly resetsMs: readonly number[]
}

/** The work of a test file in its own process: import, start a lab, write keys, reset, write keys, reset. */
const program = (index: string): string => `
  const begunMs = performance.now()
  const { startLab } = await import(${JSON.stringify(index)})
  const importedMs = performance.now()
  const lab = await startLab('pr-dr')
  const startedMs = performance.now()
  const resetsMs = []
  for (let round = 0; round < 5; round++) {
    await lab.A.client.write('sys/mounts/kv', { type: 'kv' })
    for (let n = 0; n < 20; n++) await lab.A.client.write('kv/key' + n, { value: 'x' })
    await lab.converged()
    const resetMs = performance.now()
    await lab.reset()
    resetsMs.push(performance.now() - resetMs)
  }
  await lab.close()
  console.log(JSON.stringify({ importMs: importedMs - begunMs, startMs: startedMs - importedMs, resetsMs }))
`

/** Figure 17: the waiting times of tests that start their own lab. */
export const measureLibrary = async (bench: Bench): Promise<undefined> => {
  const index = pathToFileURL(path.join(bench.dist, 'index.js')).href
  for (let round = 0; round < bench.rounds; round++) {
    const printed = await runNode(['--input-type=module', '-e', program(index)])
    const { importMs, startMs, resetsMs } = JSON.parse(printed) as Times
    bench.add('17a', importMs)
    bench.add('17b', startMs / 1000)
    for (const resetMs of resetsMs) bench.add('17c', resetMs)
  }
  return undefined
}
