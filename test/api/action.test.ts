import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { Job } from '../support/composite-action.js'
import { LabHome } from '../support/lab-home.js'

/** The action for GitHub, its steps run in an empty directory as a runner runs them. */

const ROOT = path.join(import.meta.dirname, '..', '..')
const ACTION = path.join(ROOT, 'action.yml')

const jobIn = (home: LabHome): Job => {
  const bin = path.join(home.directory, 'bin')
  mkdirSync(bin)
  const command = path.join(bin, 'understudy')
  writeFileSync(command, `#!/bin/sh\nexec '${process.execPath}' '${path.join(ROOT, 'dist', 'main.js')}' "$@"\n`)
  chmodSync(command, 0o755)
  const env = { PATH: `${bin}:${process.env.PATH}`, HOME: home.directory, XDG_STATE_HOME: home.directory }
  return new Job(path.join(home.directory, 'job'), env)
}

const expectNothingLeft = (home: LabHome) =>
  expect({ labs: home.left(), processes: home.processes() }).toEqual({ labs: [], processes: [] })

describe('the action', () => {
  it('starts a lab for the steps that follow, hands on where it is, and takes it down', async () => {
    await using home = new LabHome()
    const job = jobIn(home)
    const { hasFailed, env, outputs, log } = await job.use(ACTION, { topology: 'dr', package: 'none' })
    expect({ hasFailed, log }).toMatchObject({ hasFailed: false })
    const { clusters } = home.record('default')
    expect(env).toEqual({
      VAULT_ADDR_A: clusters[0]?.apiAddress,
      VAULT_TOKEN_A: clusters[0]?.rootToken,
      VAULT_ADDR_B: clusters[1]?.apiAddress,
    })
    expect(log).toContain(`::add-mask::${clusters[0]?.rootToken}`)
    expect(outputs.clusters).toBe('A B')
    expect(existsSync(String(outputs.lab))).toBe(true)
    const finished = await job.use(ACTION, { command: 'finish', package: 'none' })
    expect(finished).toMatchObject({ hasFailed: false, steps: ['Take the lab down'] })
    expectNothingLeft(home)
  })

  it('runs a command in the lab, keeps its logs where it fails, and takes the lab down all the same', async () => {
    await using home = new LabHome()
    const job = jobIn(home)
    const run = 'curl -fsS "$VAULT_ADDR_A/v1/sys/health" && echo "as a test that fails" && false'
    const { hasFailed, used, log } = await job.use(ACTION, { topology: 'single', package: 'none', run })
    expect(hasFailed).toBe(true)
    expect(log).toContain('as a test that fails')
    expect(log).toContain('"initialized":true')
    expect(used).toHaveLength(1)
    const [logs = '', reports] = used[0]?.with.path?.trim().split('\n') ?? []
    expect(readdirSync(logs)).toContainEqual(expect.stringMatching(/^A/))
    expect(reports).toBe('understudy-reports')
    expectNothingLeft(home)
  })

  it('fails with the message of the command where the topology is not known', async () => {
    await using home = new LabHome()
    const { hasFailed, steps, log } = await jobIn(home).use(ACTION, { topology: 'pr-rd', package: 'none' })
    expect({ hasFailed, steps }).toEqual({ hasFailed: true, steps: ['Start the lab'] })
    expect(log).toContain('did you mean "pr-dr"')
    expectNothingLeft(home)
  })
})
