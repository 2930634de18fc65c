import { spawnSync } from 'node:child_process'
import path from 'node:path'
import { writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { listDrillNames } from '../../src/lab/drills/catalogue.js'
import type { DrillResult } from '../../src/lab/drills/context/result.js'
import { LabHome } from '../support/lab-home.js'
import { runProgram } from '../support/program.js'
import { IMAGE } from './image.js'

/** Drills in containers. A crash kills a container, and no container remains after a drill. */

const FAILOVER = `
apiVersion: understudy/v1
kind: Drill
purpose: a primary in a container is lost, and its DR secondary in another one takes over
topology: dr
load: { writers: 1, readers: 1, tokens: 1 }
steps:
  - crash: A
  - promote: { cluster: B, kind: dr, token: operation }
  - wait: { for: accepting-writes, cluster: B, within: 60s }
expect:
  - tokens: { survived: all }
  - primaries: { kind: dr, are: [B] }
`

const containers = () =>
  spawnSync('docker', ['ps', '-aq', '--filter', 'label=understudy.cluster'], { encoding: 'utf8' })

const play = async (home: LabHome, drill: string, ...flags: string[]) => {
  const env = { XDG_STATE_HOME: home.directory, UNDERSTUDY_IMAGE: IMAGE }
  const { status, stdout, stderr } = await runProgram(
    ['drill', 'run', drill, '--on', 'docker', '--json', '--timeout', '2m', ...flags],
    { env },
  )
  return { status, stderr, result: stdout === '' ? undefined : (JSON.parse(stdout) as DrillResult) }
}

describe('a drill in containers', () => {
  it('a drill in containers crashes a container, reports its verdict, and removes all containers', async () => {
    await using home = new LabHome()
    const before = containers().stdout
    const file = path.join(home.directory, 'failover.yaml')
    writeFileSync(file, FAILOVER)
    const { status, stderr, result } = await play(home, file)
    expect([status, result?.verdict], stderr).toEqual([0, 'passed'])
    expect([containers().stdout, home.left()]).toEqual([before, []])

    writeFileSync(file, FAILOVER.replace('are: [B]', 'are: [A]'))
    const failed = await play(home, file)
    expect([failed.status, failed.result?.verdict], failed.stderr).toEqual([3, 'failed'])
    expect([containers().stdout, home.left()]).toEqual([before, []])
  })

  it('a drill in containers removes everything if the image does not exist', async () => {
    await using home = new LabHome()
    const before = containers().stdout
    const env = { XDG_STATE_HOME: home.directory, UNDERSTUDY_IMAGE: 'understudy.invalid/none' }
    const file = path.join(home.directory, 'failover.yaml')
    writeFileSync(file, FAILOVER)
    const { status, stderr } = await runProgram(['drill', 'run', file, '--on', 'docker'], { env })
    expect([status, stderr]).toEqual([2, expect.stringContaining('understudy.invalid/none')])
    expect([containers().stdout, home.left()]).toEqual([before, []])
  })

  const recoveries = ['dr-failover', 'dr-failback', 'pr-follow-after-dr', 'paths-filter', 'node-failover']
  // These cut links.
  const shipped = [...recoveries, 'lag-and-catch-up', 'split-brain-two-primaries']
  it.each(shipped.filter((name) => listDrillNames().includes(name)))(
    'the drill %s passes in containers',
    async (name) => {
      await using home = new LabHome()
      const { status, stderr, result } = await play(home, name)
      expect([status, result?.verdict], stderr).toEqual([0, 'passed'])
    },
  )
})
