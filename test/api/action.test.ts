import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { LabHome } from '../support/lab-home.js'
import { execFile } from 'node:child_process'
import { parse } from 'yaml'

/** Runs the steps of a composite action as the runner of GitHub does, as far as this action needs it. */

interface Step {
  readonly id?: string
  readonly name: string
  readonly if?: string
  readonly uses?: string
  readonly with?: Readonly<Record<string, string>>
  readonly shell?: string
  readonly env?: Readonly<Record<string, string>>
  readonly run?: string
}

interface Action {
  readonly inputs: Readonly<Record<string, { readonly default: string }>>
  readonly outputs: Readonly<Record<string, { readonly value: string }>>
  readonly runs: { readonly using: string; readonly steps: readonly Step[] }
}

interface ActionRun {
  readonly hasFailed: boolean
  /** Names of the executed steps, and of the actions that they would use. */
  readonly steps: readonly string[]
  readonly used: readonly { readonly uses: string; readonly with: Readonly<Record<string, string>> }[]
  readonly env: Readonly<Record<string, string>>
  readonly outputs: Readonly<Record<string, string>>
  readonly log: string
}

/** A job: the files with which its steps pass values on, and whether a step has failed. */
class Job {
  readonly #directory: string
  readonly #env: NodeJS.ProcessEnv
  #hasFailed = false

  constructor(directory: string, env: NodeJS.ProcessEnv) {
    this.#directory = directory
    this.#env = env
    mkdirSync(path.join(directory, 'temp'), { recursive: true })
  }

  /** Makes a step of the job fail. */
  fail(): void {
    this.#hasFailed = true
  }

  async use(file: string, given: Readonly<Record<string, string>>): Promise<ActionRun> {
    const action = parse(readFileSync(file, 'utf8')) as Action
    const defaults = Object.entries(action.inputs).map(([name, input]) => [name, input.default])
    const inputs = { ...Object.fromEntries(defaults), ...given } as Record<string, string>
    const outputs: Record<string, string> = {}
    const known = new Map([
      ...Object.entries(inputs).map(([name, value]): [string, string] => [`inputs.${name}`, value]),
      ['runner.temp', path.join(this.#directory, 'temp')],
    ])
    const fill = (text: string) => text.replace(/\$\{\{ *([\w.]+) *\}\}/g, (_, name: string) => known.get(name) ?? '')
    const steps: string[] = []
    const used: { uses: string; with: Record<string, string> }[] = []
    let log = ''
    for (const step of action.runs.steps) {
      if (!this.#isWanted(step.if, inputs)) continue
      steps.push(step.name)
      const filled = (values: Readonly<Record<string, string>> = {}) =>
        Object.fromEntries(Object.entries(values).map(([name, value]) => [name, fill(value)]))
      if (step.uses) used.push({ uses: step.uses, with: filled(step.with) })
      if (step.run === undefined) continue
      const env = { GITHUB_ACTION_PATH: path.dirname(file), ...filled(step.env) }
      const { ok, text } = await this.#run(step.run, env)
      log += text
      if (!ok) this.#hasFailed = true
      for (const [name, value] of this.#lines('output')) known.set(`steps.${step.id}.outputs.${name}`, value)
    }
    for (const [name, { value }] of Object.entries(action.outputs)) outputs[name] = fill(value)
    return { hasFailed: this.#hasFailed, steps, used, env: Object.fromEntries(this.#lines('env')), outputs, log }
  }

  /**
   * Evaluates a condition: comparisons, `&&`, `||`, `failure()` and `always()`. Without the last two, a step runs only
   * after success.
   */
  #isWanted(condition: string | undefined, inputs: Readonly<Record<string, string>>): boolean {
    const text = condition ?? 'success()'
    const hasStatus = /\b(?:success|failure|always)\(\)/.test(text)
    const plain = text
      .replace(/inputs\.(\w+)/g, (_, name: string) => JSON.stringify(inputs[name] ?? ''))
      .replace(/failure\(\)/g, String(this.#hasFailed))
      .replace(/success\(\)/g, String(!this.#hasFailed))
      .replace(/always\(\)/g, 'true')
    // The expressions used here are also valid JavaScript.
    const isTrue = Boolean(new Function(`return ${plain}`)())
    return isTrue && (hasStatus || !this.#hasFailed)
  }

  #run(script: string, env: Readonly<Record<string, string>>): Promise<{ ok: boolean; text: string }> {
    const paths = existsSync(this.#file('path')) ? readFileSync(this.#file('path'), 'utf8').trim().split('\n') : []
    const handed = Object.fromEntries(this.#lines('env'))
    const files = {
      GITHUB_ENV: this.#file('env'),
      GITHUB_OUTPUT: this.#file('output'),
      GITHUB_PATH: this.#file('path'),
    }
    const all = {
      ...this.#env,
      PATH: [...paths, this.#env.PATH].join(':'),
      RUNNER_TEMP: path.join(this.#directory, 'temp'),
      ...files,
      ...handed,
      ...env,
    }
    const file = path.join(this.#directory, 'step.sh')
    writeFileSync(file, script)
    return new Promise((resolve) => {
      const args = ['--noprofile', '--norc', '-eo', 'pipefail', file]
      const child = execFile('bash', args, { cwd: this.#directory, env: all }, (error, stdout, stderr) =>
        resolve({ ok: error === null, text: stdout + stderr }),
      )
      child.stdin?.end()
    })
  }

  #file(name: string): string {
    return path.join(this.#directory, `github-${name}`)
  }

  #lines(name: string): [string, string][] {
    if (!existsSync(this.#file(name))) return []
    const lines = readFileSync(this.#file(name), 'utf8').split('\n').filter(Boolean)
    return lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)])
  }
}

/** The GitHub action: its steps run in an empty directory, as on a runner. */

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
  it('the action runs the package that contains it, starts a lab for later steps, and takes the lab down', async () => {
    await using home = new LabHome()
    const job = jobIn(home)
    const { hasFailed, steps, env, outputs, log } = await job.use(ACTION, { topology: 'dr' })
    expect({ hasFailed, steps, log }).toMatchObject({ hasFailed: false, steps: ['Install', 'Start the lab'] })
    const { clusters } = home.record('default')
    expect(env).toEqual({
      VAULT_ADDR_A: clusters[0]?.apiAddress,
      VAULT_TOKEN_A: clusters[0]?.rootToken,
      VAULT_ADDR_B: clusters[1]?.apiAddress,
    })
    expect(log).toContain(`::add-mask::${clusters[0]?.rootToken}`)
    expect(outputs.clusters).toBe('A B')
    expect(existsSync(String(outputs.lab))).toBe(true)
    const finished = await job.use(ACTION, { command: 'finish' })
    expect(finished).toMatchObject({ hasFailed: false, steps: ['Take the lab down'] })
    expectNothingLeft(home)
  })

  it('the action runs a command in the lab, saves the logs on failure, and takes the lab down in any case', async () => {
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

  it('the action fails with the error of the command for an unknown topology', async () => {
    await using home = new LabHome()
    const { hasFailed, steps, log } = await jobIn(home).use(ACTION, { topology: 'pr-rd', package: 'none' })
    expect({ hasFailed, steps }).toEqual({ hasFailed: true, steps: ['Start the lab'] })
    expect(log).toContain('did you mean "pr-dr"')
    expectNothingLeft(home)
  })
})
