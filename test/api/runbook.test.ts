import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import type { WrittenRunbook, WrittenStep } from '../../src/lab/operations/written-runbook.js'
import { LabHome } from '../support/lab-home.js'

/**
 * Runbooks against real servers, in a shell of an operator whose environment still points to the lost primary, and to a
 * namespace. Only the flags of each command are right.
 */

const MAIN = path.join(import.meta.dirname, '..', '..', 'dist', 'main.js')

/** The clusters of the lab by their name in the addresses file. */
type Names = Readonly<Record<string, string>>

class Operator {
  readonly #home: LabHome
  readonly #env: NodeJS.ProcessEnv
  readonly #shares: readonly string[]
  readonly #addresses: string

  /** `tokens`: valid tokens by name. `primary`: the cluster to which the environment points. */
  constructor(home: LabHome, names: Names, tokens: Names, primary: string) {
    const { clusters } = home.record('default')
    const find = (name: string) => {
      const cluster = clusters.find((each) => each.name === name)
      if (!cluster) throw new Error(`the lab has no cluster ${name}`)
      return cluster
    }
    const bin = path.join(home.directory, 'bin')
    mkdirSync(bin)
    const vault = path.join(bin, 'vault')
    writeFileSync(vault, `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' vault "$@"\n`)
    chmodSync(vault, 0o755)
    const { apiAddress, caFile, unsealKeys, threshold } = find(primary)
    this.#shares = unsealKeys.slice(0, threshold)
    this.#addresses = path.join(home.directory, 'clusters.json')
    const listed = Object.entries(names).map(([name, letter]) => {
      const cluster = find(letter)
      return {
        name,
        'api-address': cluster.apiAddress,
        'cluster-address': cluster.clusterAddress,
        ...(cluster.caFile === undefined ? {} : { 'ca-file': cluster.caFile }),
        'key-threshold': threshold,
      }
    })
    writeFileSync(this.#addresses, JSON.stringify({ clusters: listed }))
    this.#home = home
    this.#env = {
      ...Object.fromEntries(Object.entries(tokens).map(([name, token]) => [`TOKEN_${name.toUpperCase()}`, token])),
      PATH: `${bin}:${process.env.PATH}`,
      HOME: home.directory,
      VAULT_ADDR: apiAddress,
      VAULT_TOKEN: 'a-token-of-yesterday',
      VAULT_NAMESPACE: 'elsewhere',
      ...(caFile === undefined ? {} : { VAULT_CACERT: caFile }),
    }
  }

  /** Writes a runbook in a format. */
  async write(format: string, words: string): Promise<string> {
    const flags = ['--addresses', this.#addresses, '-o', format]
    return (await this.#home.passes('runbook', ...words.split(' '), ...flags)).stdout
  }

  /** Runs the script of a runbook, with the key shares on standard input. */
  async play(words: string, env: Names = {}): Promise<void> {
    const script = await this.write('sh', words)
    const count = script.match(/^ask /gm)?.length ?? 0
    const shares = Array.from({ length: count }, (_, at) => this.#shares[at % this.#shares.length])
    const { status, stdout, stderr } = await this.run(script, { input: `${shares.join('\n')}\n`, env })
    expect(status, `${words}\n${stdout}\n${stderr}`).toBe(0)
  }

  async run(script: string, { input = '', env = {} }: { readonly input?: string; readonly env?: Names } = {}) {
    const child = spawn('sh', ['-c', script], { env: { ...this.#env, ...env }, cwd: this.#home.directory })
    const texts = { stdout: '', stderr: '' }
    child.stdout.on('data', (chunk: Buffer) => (texts.stdout += String(chunk)))
    child.stderr.on('data', (chunk: Buffer) => (texts.stderr += String(chunk)))
    child.stdin.on('error', () => undefined)
    child.stdin.end(input)
    const [status] = (await once(child, 'close')) as [number | null]
    return { status, ...texts }
  }

  /** Returns lines for the shell that run a step once, and compare its output with the expected one. */
  linesOf({ number, command, answer, expect: text, needs }: WrittenStep, share: number): string[] {
    const shares = needs.some(({ name }) => name === 'KEY_SHARE') ? [`KEY_SHARE=${this.#shares[share]}`] : []
    const fail = `{ echo "step ${number} failed" >&2; exit 1; }`
    if (answer !== undefined) return [...shares, `[ "$(${command})" = '${answer}' ] || ${fail}`]
    const [, warning] = /"([^"]+)"/.exec(text) ?? []
    if (warning === undefined) return [...shares, `${command} || ${fail}`]
    return [
      ...shares,
      `said="$(${command} 2>&1 | tr -s '\\n ' ' ')"`,
      `case "$said" in *'${warning}'*) ;; *) ${fail} ;; esac`,
    ]
  }
}

it('the runbooks of a DR pair run in a shell from the first line to the last', { timeout: 600_000 }, async () => {
  await using home = new LabHome()
  await home.passes('up', 'dr', '--tls', '--shamir', '3/2', '--ports', 'random')
  await home.vault('A', 'secrets', 'enable', '-path=kv', 'kv')
  await home.vault('A', 'write', 'kv/a', 'word=kept')
  await home.passes('wait', '--for', 'converged')
  const token = home.record('default').clusters[0]?.rootToken ?? ''
  const operator = new Operator(home, { east: 'A', west: 'B' }, { east: token, west: token }, 'A')

  await operator.play('switchover east west')
  await home.passes('wait', '--for', 'converged')
  await operator.play('switchover west east')
  const early = await operator.run(await operator.write('sh', 'failover east west'))
  expect([early.status, early.stderr]).toEqual([1, expect.stringContaining('stopped: the expected output is: down')])

  await home.passes('crash', 'A')
  const script = await operator.write('sh', 'failover east west')
  // The first share is malformed. The script cancels its generation, so that the next run can start another one.
  const rejected = await operator.run(script, { input: 'no-share\nno-share\n' })
  expect([rejected.status, rejected.stderr]).toEqual([1, expect.stringMatching(/stopped: step 7 failed\.\ncanceling/)])
  expect(rejected.stderr).not.toContain('key share 2')
  const caFile = home.record('default').clusters[0]?.caFile ?? ''
  const wrong = await operator.run(script.replaceAll(caFile, '/none.pem'))
  expect([wrong.status, wrong.stderr]).toEqual([1, expect.stringContaining('cannot read /none.pem')])
  const bare = await operator.run(`PATH=/none\n${script}`)
  expect([bare.status, bare.stderr]).toEqual([1, expect.stringContaining('there is no command vault')])
  await operator.play('failover east west')
  expect((await home.vault('B', 'read', '-field=word', 'kv/a')).stdout).toBe('kept')
  await home.passes('start', 'A')
  await operator.play('rejoin east west')
  await home.passes('wait', '--for', 'converged')
  // The former primary follows already: the first steps are skipped or repeated without effect.
  await operator.play('failback east west')
  await home.passes('status')
  expect((await home.vault('A', 'read', '-field=word', 'kv/a')).stdout).toBe('kept')
})

it('each command to go back of a runbook works, and each answer is the expected one', {
  timeout: 600_000,
}, async () => {
  await using home = new LabHome()
  await home.passes('up', 'dr', '--in-process', '--shamir', '3/2', '--ports', 'random')
  await home.passes('wait', '--for', 'converged')
  const token = home.record('default').clusters[0]?.rootToken ?? ''
  const operator = new Operator(home, { east: 'A', west: 'B' }, { east: token, west: token }, 'A')
  await home.passes('crash', 'A')
  const { steps } = JSON.parse(await operator.write('json', 'failover east west')) as WrittenRunbook
  let share = 0
  const lines = steps.flatMap((step) => {
    const isStart = step.title.startsWith('Start the generation')
    if (step.title.startsWith('Submit')) share += 1
    const own = step.isRepeated ? [] : operator.linesOf(step, share - 1)
    return isStart ? [...own, step.backCommand ?? 'false', ...own] : own
  })
  const failover = await operator.run(['set -eu', ...lines].join('\n'))
  expect([failover.status, failover.stdout], failover.stderr).toEqual([0, expect.any(String)])
  await home.passes('wait', '--for', 'active', '--cluster', 'B')

  await home.passes('start', 'A')
  const rejoin = JSON.parse(await operator.write('json', 'rejoin east west')) as WrittenRunbook
  const issue = rejoin.steps.find(({ makes }) => makes.includes('ACTIVATION_TOKEN'))
  const revoked = await operator.run(
    ['set -eu', issue?.command, '[ -n "$ACTIVATION_TOKEN" ]', issue?.backCommand, issue?.command].join('\n'),
  )
  expect(revoked.status, revoked.stderr).toBe(0)
  const promotion = steps.find(({ title }) => title.startsWith('Promote'))
  const demotion = rejoin.steps.find(({ title }) => title === 'Demote east')
  const demoted = await operator.run(['set -eu', demotion?.command, promotion?.backCommand].join('\n'))
  expect(demoted.status, demoted.stderr).toBe(0)
  await expect
    .poll(async () => (await home.run('token', 'dr-operation', 'A')).stdout, { timeout: 60_000 })
    .toMatch(/^hvs?\./)
  const { stdout: operation } = await home.passes('token', 'dr-operation', 'A')
  const back = await operator.run(`DR_OPERATION_TOKEN=${operation.trim()}\n${demotion?.backCommand}`)
  expect(back.status, back.stderr).toBe(0)
  await home.passes('wait', '--for', 'active', '--cluster', 'A')
})

it('the runbooks of performance replication run in a shell from the first line to the last', {
  timeout: 600_000,
}, async () => {
  await using home = new LabHome()
  await home.passes('up', 'pr', '--in-process', '--ports', 'random')
  await home.passes('wait', '--for', 'converged')
  expect((await home.vault('C', 'write', '-f', 'sys/replication/performance/secondary/disable')).status).toBe(0)
  await home.passes('wait', '--for', 'active', '--cluster', 'C')
  const tokenOf = async (cluster: string) => {
    const { VAULT_TOKEN = '' } = JSON.parse((await home.passes('env', cluster, '--json')).stdout) as Names
    return VAULT_TOKEN
  }
  const tokens = { main: await tokenOf('A'), branch: await tokenOf('C') }
  const operator = new Operator(home, { main: 'A', branch: 'C' }, tokens, 'A')
  await operator.play('activate main branch')
  await home.passes('wait', '--for', 'converged')

  const { steps } = JSON.parse(await operator.write('json', 'activate main branch')) as WrittenRunbook
  const disable = steps.find(({ title }) => title.startsWith('Make branch'))?.backCommand ?? 'false'
  // The copy replaced the tokens of the secondary.
  const disabled = await operator.run(disable, { env: { TOKEN_BRANCH: await tokenOf('C') } })
  expect(disabled.status, disabled.stderr).toBe(0)
  await home.passes('wait', '--for', 'active', '--cluster', 'C')
  await operator.play('activate main branch', { TOKEN_BRANCH: await tokenOf('C') })
  await home.passes('wait', '--for', 'converged')

  await home.vault('A', 'secrets', 'enable', '-path=kv', 'kv')
  await home.vault('A', 'write', 'kv/a', 'word=kept')
  await home.passes('wait', '--for', 'converged')
  await home.passes('crash', 'A')
  await operator.play('failover main branch --kind performance', { TOKEN_BRANCH: await tokenOf('C') })

  const playNow = async (words: string) => {
    const env = { TOKEN_MAIN: await tokenOf('A'), TOKEN_BRANCH: await tokenOf('C') }
    await operator.play(`${words} --kind performance`, env)
    await home.passes('wait', '--for', 'converged')
    const status = JSON.parse((await home.passes('status', '--json')).stdout) as { links: readonly object[] }
    return status.links
  }
  const followsC = { kind: 'performance', primary: 'C', secondary: 'A' }
  const followsA = { kind: 'performance', primary: 'A', secondary: 'C' }
  await home.passes('start', 'A')
  expect(await playNow('rejoin main branch')).toMatchObject([followsC])
  // The former primary follows already: the first steps are skipped or repeated without effect.
  expect(await playNow('failback main branch')).toMatchObject([followsA])
  expect(await playNow('switchover main branch')).toMatchObject([followsC])
  for (const cluster of ['A', 'C'])
    expect((await home.vault(cluster, 'read', '-field=word', 'kv/a')).stdout, cluster).toBe('kept')
})

it.each(['dr', 'performance'])(
  'the runbook of an activation (%s) enables the primary of two new servers',
  {
    timeout: 600_000,
  },
  async (kind) => {
    await using home = new LabHome()
    const file = path.join(home.directory, 'two.yaml')
    writeFileSync(file, 'apiVersion: understudy/v1\nkind: Topology\nname: two\nclusters: { A: , B: }\n')
    await home.passes('up', '-f', file, '--in-process', '--ports', 'random')
    const [east = '', west = ''] = home.record('default').clusters.map(({ rootToken }) => rootToken)
    const operator = new Operator(home, { east: 'A', west: 'B' }, { east, west }, 'A')
    await operator.play(`activate east west --kind ${kind}`)
    const status = await home.vault('B', 'read', '-field=mode', `sys/replication/${kind}/status`)
    expect(status.stdout).toBe('secondary')
  },
)

it('runbook uses the addresses of a lab that is stopped, and explains a missing lab or file', async () => {
  await using home = new LabHome()
  await home.passes('up', 'dr', '--in-process', '--ports', 'random', '--name', 'one')
  const [a] = home.record('one').clusters
  await home.passes('stop', 'A', 'B', '--name', 'one')
  const page = await home.passes('runbook', 'failover', 'A', 'B', '--name', 'one')
  expect(page.stdout).toContain('# Fail over from A, which is down, to B (DR replication)\n')
  expect(page.stdout).toContain(`-address=${a?.apiAddress} -namespace=`)
  expect(page.stdout).not.toContain(a?.rootToken)
  expect((await home.passes('runbook', 'failover', 'A', 'B', '--name', 'one', '-o', 'yaml')).stdout).toContain(
    'kind: Runbook\n',
  )
  const refusals: readonly [readonly string[], string][] = [
    [['failover', 'A', 'Q', '--name', 'one'], 'the lab "one" has no cluster "Q"; it has A, B'],
    [['failover', 'A', 'B'], 'there is no lab "default"'],
    [['failover', 'A', 'B', '--addresses', 'none.yaml'], 'none.yaml cannot be read'],
    [['promote', 'A', 'B', '--name', 'one'], 'Allowed choices are failover, switchover, failback, rejoin, activate'],
    [['failover', 'A', 'B', '--name', 'one', '-o', 'pdf'], 'Allowed choices are md, sh, yaml, json'],
  ]
  for (const [args, text] of refusals)
    expect(await home.run('runbook', ...args), args.join(' ')).toMatchObject({
      status: 1,
      stdout: '',
      stderr: expect.stringContaining(text),
    })
})
