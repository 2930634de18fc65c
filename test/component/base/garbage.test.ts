import { execFileSync } from 'node:child_process'
import { constants, PerformanceObserver } from 'node:perf_hooks'
import { expect, it } from 'vitest'
import { requestGc } from '../../../src/base/garbage.js'

const { NODE_PERFORMANCE_GC_FLAGS_FORCED: FORCED } = constants

it('requestGc collects garbage once per turn of the event loop', async () => {
  let collections = 0
  const observer = new PerformanceObserver((list) => {
    const entries = list.getEntries() as unknown as { detail: { flags: number } }[]
    for (const { detail } of entries) if (detail.flags & FORCED) collections++
  })
  observer.observe({ entryTypes: ['gc'] })
  try {
    for (const expected of [1, 2]) {
      for (let i = 0; i < 50; i++) requestGc(64 * 1024 * 1024)
      await expect.poll(() => collections).toBeGreaterThanOrEqual(expected)
      for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => void setImmediate(resolve))
      expect(collections).toBe(expected)
    }
  } finally {
    observer.disconnect()
  }
})

it('the V8 engine of this Node has the option --heap-growing-percent', () => {
  const options = execFileSync(process.execPath, ['--v8-options'], { encoding: 'utf8' })
  expect(options).toContain('--heap-growing-percent')
})
