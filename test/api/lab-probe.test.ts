import { expect, it } from 'vitest'
import type { ProbeResult } from '../../src/lab/live/probe.js'
import { LabHome } from '../support/lab-home.js'

it('probe measures the lag of each secondary', async () => {
  await using home = new LabHome()
  const on = (...args: string[]) => home.run(...args, '--name', 'one')
  expect((await on('up', 'pr-dr', '--ports', 'random')).status).toBe(0)
  expect((await on('fault', 'latency', 'A', 'C', '400ms')).status).toBe(0)
  const probe = await on('probe', '--for', '2s', '--json')
  expect(probe.status, probe.stderr).toBe(0)
  const { primary, writes, clusters } = JSON.parse(probe.stdout) as ProbeResult
  const [b, c] = clusters
  expect([primary, b?.by, c?.by]).toEqual(['A', 'wal', 'read'])
  // Delayed entries arrive later. The delay begins before the response from which the lag is measured.
  expect(c?.minMs).toBeGreaterThan(200)
  for (const { samples, missed, minMs, p50Ms, p95Ms, maxMs } of clusters) {
    expect([samples, missed]).toEqual([writes, 0])
    expect([minMs, p50Ms, p95Ms, maxMs]).toEqual([minMs, p50Ms, p95Ms, maxMs].toSorted((one, other) => one - other))
  }

  expect((await on('heal', '--all')).status).toBe(0)
  expect((await on('fault', 'partition', 'A', 'B')).status).toBe(0)
  const cut = await on('probe', '--for', '1s', '--timeout', '1s')
  expect([cut.status, cut.stderr]).toEqual([4, expect.stringContaining('B')])
  const mounts = await on('exec', 'A', '--', process.execPath, 'dist/main.js', 'vault', 'secrets', 'list')
  expect(mounts.stdout).not.toContain('understudy-probe')
})
