import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { findCompose } from '../../scripts/support/docker.js'
import { randomPorts } from '../../src/lab/model/ports.js'
import { LabHome } from '../support/lab-home.js'
import { IMAGE } from './image.js'

/** The export of a DR pair of clusters with three nodes each, which are six containers. */

const TOPOLOGY = `
apiVersion: understudy/v1
kind: Topology
name: two
about: two clusters of three nodes
clusters:
  A: { nodes: 3 }
  B: { nodes: 3 }
links:
  - { kind: dr, primary: A, secondary: B }
`

const NODES = ['A1', 'A2', 'A3', 'B1', 'B2', 'B3']
const directory = mkdtempSync(path.join(tmpdir(), 'understudy-export-'))
const env: NodeJS.ProcessEnv = { ...process.env }
const home = new LabHome()

const call = (command: string, ...args: string[]) => {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: directory, env, encoding: 'utf8' })
  return { status, stdout: stdout.trim(), text: `${stdout}${stderr}` }
}
const compose = (...args: string[]) => {
  const [command = 'docker-compose', ...first] = findCompose() ?? []
  return call(command, ...first, ...args)
}
/** Returns the exit status of `wire`. */
const wireStatus = () =>
  call('docker', 'wait', compose('ps', '-a', '-q', 'wire').stdout || compose('ps', '-q', 'wire').stdout).stdout

const on = (...args: string[]) => home.run(...args, '--name', 'boxes', '--timeout', '2m')
const vault = (...args: string[]) =>
  home.run('exec', 'A', '--name', 'boxes', '--', process.execPath, 'dist/main.js', 'vault', ...args)

interface Status {
  readonly clusters: readonly {
    readonly name: string
    readonly dr: { readonly mode: string }
    readonly nodes: readonly { readonly name: string; readonly state: string; readonly process: string }[]
  }[]
}
const status = async () => JSON.parse((await home.run('status', '--name', 'boxes', '--json')).stdout) as Status
const statesOf = async (cluster: string) => {
  const found = (await status()).clusters.find(({ name }) => name === cluster)
  return (found?.nodes ?? []).map(({ state }) => state).sort()
}

beforeAll(async () => {
  const file = path.join(directory, 'mine.yaml')
  writeFileSync(file, TOPOLOGY)
  for (const [name, { api }] of await randomPorts([...NODES, 'LINKS', 'TOXIPROXY'])) env[`${name}_PORT`] = String(api)
  const exported = await home.run('compose', 'export', '-f', file, '--out', directory, '--image', IMAGE)
  expect(exported.status, exported.stderr).toBe(0)
})

afterAll(async () => {
  compose('down', '--volumes', '--timeout', '20')
  rmSync(directory, { recursive: true, force: true })
  await home[Symbol.asyncDispose]()
})

it('a compose file with nodes opens every node and attaches as a lab', async () => {
  const up = compose('up', '-d')
  expect(up.status, up.text).toBe(0)
  expect(wireStatus(), compose('logs', '--no-color').text).toBe('0')
  const attached = await home.run('attach', 'boxes', '--compose', directory)
  expect(attached.status, attached.stderr).toBe(0)
  for (const name of NODES) expect(attached.stdout).toMatch(new RegExp(`^${name} .*known`, 'm'))
  expect((await on('wait', '--for', 'healthy')).status).toBe(0)
  for (const cluster of ['A', 'B']) expect(await statesOf(cluster)).toEqual(['active', 'standby', 'standby'])
  expect((await vault('secrets', 'enable', '-path=kv', 'kv')).status).toBe(0)
  expect((await vault('write', 'kv/a', 'word=kept')).status).toBe(0)
})

it('after a kill of the active container, another node takes over and the secondary follows it', async () => {
  const active = (await status()).clusters[0]?.nodes.find(({ state }) => state === 'active')?.name ?? ''
  const container = compose('ps', '-q', active.toLowerCase()).stdout
  expect(call('docker', 'kill', container).status).toBe(0)
  const waited = await on('wait', '--for', 'active', '--cluster', 'A')
  expect(waited.status, waited.stderr).toBe(0)
  // `env`, and therefore `exec`, waits for the next active node.
  const written = await vault('write', 'kv/b', 'word=later')
  expect(written.status, written.stderr).toBe(0)
  expect((await status()).clusters[0]?.nodes.find(({ name }) => name === active)).toMatchObject({
    state: 'stopped',
    process: 'stopped',
  })
  expect((await on('start', active)).status).toBe(0)
  const converged = await on('wait', '--for', 'converged')
  expect(converged.status, converged.stderr).toBe(0)
  expect(await statesOf('A')).toEqual(['active', 'standby', 'standby'])
})

it('a compose file with nodes opens every node again after a stop of all', async () => {
  expect(compose('stop').status).toBe(0)
  expect(compose('up', '-d').status).toBe(0)
  expect(wireStatus(), compose('logs', '--no-color').text).toBe('0')
  expect((await on('wait', '--for', 'healthy')).status).toBe(0)
  expect((await vault('read', '-field=word', 'kv/b')).stdout).toContain('later')
})
