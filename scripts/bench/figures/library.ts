import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Figure, NODE_ALONE } from '../goals.js'
import { nodeAloneMs, runNode } from '../child.js'
import { alternating } from '../stats.js'
import type { Bench } from './context.js'

/** Milliseconds by figure. A figure can have several measurements. */
type Times = Readonly<Record<Figure, readonly number[]>>

/** The work of a test file in its own process: import, start a lab, write keys, reset, and start more labs. */
const program = (index: string): string => `
  const times = {}
  const timed = async (figure, work) => {
    const startMs = performance.now()
    const result = await work()
    ;(times[figure] ??= []).push(performance.now() - startMs)
    return result
  }
  let startLab
  const lab = await timed('17b', async () => {
    ;({ startLab } = await timed('17a', () => import(${JSON.stringify(index)})))
    return startLab('pr-dr')
  })
  for (let round = 0; round < 5; round++) {
    await lab.A.client.write('sys/mounts/kv', { type: 'kv' })
    for (let n = 0; n < 20; n++) await lab.A.client.write('kv/key' + n, { value: 'x' })
    await lab.converged()
    await timed('17c', () => lab.reset())
  }
  await lab.close()
  for (const [figure, topology, options] of [
    ['17d', 'pr-dr'],
    ['17e', 'dr'],
    ['17f', 'six'],
    ['17g', 'pr-dr', { simulated: true }],
  ])
    for (let round = 0; round < 3; round++) await (await timed(figure, () => startLab(topology, options))).close()
  console.log(JSON.stringify(times))
  process.exit(0)
`

/** Figure 17: the waiting times of tests that start their own lab. */
export const measureLibrary = async (bench: Bench): Promise<undefined> => {
  for (let round = 0; round < bench.rounds; round++) {
    bench.note(NODE_ALONE, await nodeAloneMs(), 'ms')
    for (const { dist, add } of alternating(bench.builds, round)) {
      const index = pathToFileURL(path.join(dist, 'index.js')).href
      const times = JSON.parse(await runNode(['--input-type=module', '-e', program(index)])) as Times
      for (const [figure, values] of Object.entries(times))
        for (const ms of values) add(figure as Figure, figure === '17a' || figure === '17c' ? ms : ms / 1000)
    }
  }
  return undefined
}
