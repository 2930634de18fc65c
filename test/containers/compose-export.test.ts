import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findCompose } from '../../scripts/support/docker.js'
import { randomPorts } from '../../src/lab/model/ports.js'
import { LabHome } from '../support/lab-home.js'
import { until } from '../support/until.js'
import { IMAGE } from './image.js'

/** Exported compose files that are started, attached as labs and restarted. */

class Export {
  readonly directory = mkdtempSync(path.join(tmpdir(), 'understudy-export-'))
  readonly env: NodeJS.ProcessEnv = { ...process.env }

  call(command: string, args: readonly string[]) {
    const { status, stdout, stderr } = spawnSync(command, args, {
      cwd: this.directory,
      env: this.env,
      encoding: 'utf8',
    })
    return { status, text: `${stdout}${stderr}`, stdout: stdout.trim() }
  }

  compose(...args: string[]) {
    const [command, ...first] = findCompose() ?? ['docker-compose']
    return this.call(command, [...first, ...args])
  }

  /** Returns the exit status of `wire`. */
  wireStatus(): string {
    const id = this.compose('ps', '-a', '-q', 'wire').stdout || this.compose('ps', '-q', 'wire').stdout
    return this.call('docker', ['wait', id]).stdout
  }

  async choosePorts(clusters: readonly string[]): Promise<void> {
    for (const [name, { api }] of await randomPorts(clusters)) this.env[`${name}_PORT`] = String(api)
  }

  end(): void {
    this.compose('down', '--volumes', '--timeout', '20')
    rmSync(this.directory, { recursive: true, force: true })
  }
}

const exported = new Export()
const { directory, env } = exported
const compose = exported.compose.bind(exported)
const wireStatus = exported.wireStatus.bind(exported)
const call = exported.call.bind(exported)
const home = new LabHome()

const on = (...args: string[]) => home.run(...args, '--name', 'boxes')
const vault = (cluster: string, ...args: string[]) =>
  home.run('exec', cluster, '--name', 'boxes', '--', process.execPath, 'dist/main.js', 'vault', ...args)

describe('an exported compose file', () => {
  beforeAll(async () => {
    await exported.choosePorts(['A', 'B', 'C', 'LINKS', 'TOXIPROXY'])
    const { status, stderr } = await home.run('compose', 'export', 'pr-dr', '--out', directory, '--image', IMAGE)
    expect(status, stderr).toBe(0)
  })

  afterAll(async () => {
    exported.end()
    await home[Symbol.asyncDispose]()
  })

  it('an exported compose file starts a lab that replicates by itself', () => {
    const up = compose('up', '-d')
    expect(up.status, up.text).toBe(0)
    expect(wireStatus(), compose('logs', '--no-color', 'wire').text).toBe('0')
    const log = compose('logs', '--no-color', 'wire').text
    expect(log).toContain('keys and tokens are in /vault/data/wired.json')
    expect(log).not.toMatch(/\bhvs\.|\b[0-9a-f]{64}\b/)
    const { status, text } = compose('run', '--rm', 'status')
    expect(status, text).toBe(0)
  })

  it('a partition of an attached compose lab cuts one link until it is healed', async () => {
    const attached = await home.run('attach', 'boxes', '--compose', directory)
    expect(attached.status, attached.stderr).toBe(0)
    expect((await on('wait', '--for', 'healthy')).status).toBe(0)
    expect((await vault('A', 'secrets', 'enable', '-path=kv', 'kv')).status).toBe(0)
    const cut = await on('fault', 'partition', 'A', 'B')
    expect([cut.status, cut.stderr]).toEqual([0, expect.stringContaining('fault 1: A <-> B, partition')])
    expect((await vault('A', 'write', 'kv/a', 'word=late')).status).toBe(0)
    await until(async () => (await vault('C', 'read', '-field=word', 'kv/a')).stdout.trim() === 'late')
    await until(async () => (await on('status')).stderr.includes('B is disconnected from its DR primary'))
    expect((await on('status')).stderr).toContain('the link A <-> B has a fault (partition)')
    expect((await on('wait', '--for', 'converged', '--timeout', '1s')).status).toBe(4)
    expect((await on('heal', '--all')).stderr).toContain('healed A <-> B, partition')
    expect((await on('wait', '--for', 'converged')).status).toBe(0)
    expect((await on('events')).stdout).toMatch(/fault-healed +1: A <-> B, partition: healed/)
  })

  it('toxiproxy clients of this machine control the links of an attached compose lab', async () => {
    const printed = await on('toxiproxy')
    expect([printed.status, printed.stdout]).toEqual([0, `http://127.0.0.1:${env.TOXIPROXY_PORT}\n`])
    const proxies = `${printed.stdout.trim()}/proxies`
    expect(Object.keys((await (await fetch(proxies)).json()) as object)).toContain('C-A-cluster')
    const body = JSON.stringify({ type: 'latency', attributes: { latency: 50 } })
    expect((await fetch(`${proxies}/C-A-cluster/toxics`, { method: 'POST', body })).status).toBe(200)
    expect((await on('fault', 'ls')).stdout).toContain('latency 50 ms')
    expect((await on('heal', '--all')).status).toBe(0)
    expect((await on('wait', '--for', 'healthy')).status).toBe(0)
  })

  it('an attached compose lab rehearses a failover', async () => {
    expect((await vault('A', 'write', 'kv/a', 'word=kept')).status).toBe(0)
    expect((await on('wait', '--for', 'converged')).status).toBe(0)

    expect((await on('crash', 'A')).status).toBe(0)
    expect(await on('crash', 'A')).toMatchObject({ status: 5, stderr: expect.stringContaining('A is not running') })
    expect((await on('status')).stderr).toContain('A is stopped')
    for (const verb of ['resume', 'unseal']) {
      const { status, stderr } = await on(verb)
      expect([status, stderr], verb).toEqual([0, expect.stringContaining('cluster A is not running, and was skipped')])
      expect(stderr, verb).toMatch(/^cluster C is /m)
    }
    const failover = await on('failover', 'A', 'B', '--force')
    expect(failover.status, failover.stderr).toBe(0)
    expect((await vault('B', 'read', '-field=word', 'kv/a')).stdout.trim()).toBe('kept')

    expect((await on('start', 'A')).status).toBe(0)
    const rejoined = await on('rejoin', 'A', 'B')
    expect(rejoined.status, rejoined.stderr).toBe(0)
    expect((await on('pause', 'A')).status).toBe(0)
    expect((await on('status')).stderr).toContain('A is paused')
    expect((await on('resume', 'A')).status).toBe(0)
  })

  it('an exported compose file unseals every server after a restart and keeps the roles', async () => {
    expect(compose('stop', '--timeout', '20').status).toBe(0)
    expect(compose('up', '-d').status).toBe(0)
    const status = wireStatus()
    const log = compose('logs', '--no-color', 'wire').text
    expect(status, log).toBe('0')
    expect(log).toContain('B is no longer a dr secondary of A')
    expect((await on('env', '--role', 'dr-primary')).stdout).toContain(`:${env.B_PORT}`)
    expect((await vault('B', 'read', '-field=word', 'kv/a')).stdout.trim()).toBe('kept')
  })

  it('down leaves the containers of an attached compose lab running', async () => {
    expect((await home.run('down', 'boxes')).stderr).toContain('is unregistered')
    const running = call('docker', [
      'ps',
      '-q',
      '--filter',
      `label=com.docker.compose.project.working_dir=${directory}`,
    ])
    expect(running.stdout.split('\n')).toHaveLength(4)
  })
})

describe('an exported compose file with TLS and auto-unseal', () => {
  const secret = new Export()
  const home = new LabHome()
  const on = (...args: string[]) => home.run(...args, '--name', 'sealed')

  beforeAll(async () => {
    await secret.choosePorts(['A', 'B', 'LINKS', 'TOXIPROXY'])
    const file = path.join(secret.directory, 'mine.yaml')
    const head = 'apiVersion: understudy/v1\nkind: Topology\nname: sealed\n'
    const plan = 'defaults: { tls: true, seal: auto 3/2 }\nclusters: { A: {}, B: {} }\n'
    writeFileSync(file, `${head}${plan}links: [{ kind: dr, primary: A, secondary: B }]\n`)
    const args = ['compose', 'export', '-f', file, '--out', secret.directory, '--image', IMAGE]
    const { status, stderr } = await home.run(...args)
    expect(status, stderr).toBe(0)
  })

  afterAll(async () => {
    secret.end()
    await home[Symbol.asyncDispose]()
  })

  it('an exported compose file with TLS and auto-unseal replicates, with keys that only the owner can read', () => {
    const up = secret.compose('up', '-d')
    expect(up.status, up.text).toBe(0)
    expect(secret.wireStatus(), secret.compose('logs', '--no-color', 'wire', 'secrets').text).toBe('0')
    const a = secret.compose('ps', '-q', 'a').stdout
    const files = ['A.key', 'B.key', 'key.pem'].map((name) => `/vault/secrets/${name}`)
    const modes = secret.call('docker', ['exec', a, 'stat', '-c', '%a %U', ...files])
    expect(modes.stdout.split('\n'), modes.text).toEqual(Array(3).fill('600 vault'))
    const inspected = secret.call('docker', ['inspect', a]).stdout
    const [key, pem] = files.slice(1).map((file) => secret.call('docker', ['exec', a, 'cat', file]).stdout)
    expect(key).toMatch(/^[0-9a-f]{64}$/)
    for (const text of [key, pem?.split('\n')[1]]) expect(inspected.includes(text ?? '')).toBe(false)
    const { status, text } = secret.compose('run', '--rm', 'status')
    expect(status, text).toBe(0)
  })

  it('an exported compose file with auto-unseal is a lab whose servers unseal themselves after a restart', async () => {
    const attached = await home.run('attach', 'sealed', '--compose', secret.directory)
    expect(attached.status, attached.stderr).toBe(0)
    expect((await on('env', 'A')).stdout).toMatch(/VAULT_ADDR=https:[\s\S]*VAULT_CACERT=/)
    const vault = [process.execPath, 'dist/main.js', 'vault', 'secrets', 'enable', '-path=kv', 'kv']
    const written = await home.run('exec', 'A', '--name', 'sealed', '--', ...vault)
    expect(written.status, written.stderr).toBe(0)
    expect((await on('crash', 'B')).status).toBe(0)
    expect((await on('start', 'B')).status).toBe(0)
    const waited = await on('wait', '--for', 'converged', '--timeout', '120s')
    expect(waited.status, waited.stderr).toBe(0)

    expect(secret.compose('stop', '--timeout', '20').status).toBe(0)
    expect(secret.compose('up', '-d').status).toBe(0)
    expect(secret.wireStatus(), secret.compose('logs', '--no-color', 'wire', 'secrets').text).toBe('0')
    expect(secret.compose('logs', '--no-color', 'secrets').text).toContain('all files already exist in /vault/secrets')
  })
})
