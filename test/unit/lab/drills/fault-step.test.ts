import { expect, it } from 'vitest'
import type { DrillContext } from '../../../../src/lab/drills/context/drill-context.js'
import { runStep, type Step } from '../../../../src/lab/drills/steps/steps.js'

/** Returns the command that a step prints and the fault that it sets. */
const play = async (value: Extract<Step, { verb: 'fault' }>['with']) => {
  const lines: string[] = []
  const requests: unknown[] = []
  const lab = { setFault: async (request: unknown) => void requests.push(request) }
  const resolve = async (given: unknown) => given
  const context = { line: (text: string) => void lines.push(text), lab, resolve } as unknown as DrillContext
  await runStep(context, { verb: 'fault', name: undefined, error: undefined, with: value })
  return { lines, requests }
}

const between = ['A', 'B'] as const

it('a fault step prints the first number as argument and the others as options', async () => {
  expect(await play({ name: 'slicer', between, bytes: 64, variation: 8, delay: '1ms' })).toEqual({
    lines: ['understudy fault slicer A B 64 --variation 8 --delay 1ms'],
    requests: [
      { between, isOneWay: false, fault: { name: 'slicer', averageBytes: 64, variationBytes: 8, delayMs: 1 } },
    ],
  })
  expect((await play({ name: 'bandwidth', between, 'bytes-per-second': 9000, 'one-way': true })).lines).toEqual([
    'understudy fault bandwidth A B 9000B/s --one-way',
  ])
  expect((await play({ name: 'latency', between, delay: '80ms', jitter: '5ms', for: '30s' })).lines).toEqual([
    'understudy fault latency A B 80ms --jitter 5ms --for 30s',
  ])
})
