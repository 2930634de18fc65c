import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import net from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { listenToProgress } from '../../src/base/progress.js'
import { thisHost } from '../../src/lab/processes/lab-host.js'
import { upLab } from '../../src/lab/lifecycle/up.js'
import { randomPorts } from '../../src/lab/model/ports.js'
import { requireTopology } from '../../src/lab/topology/catalogue.js'
import { LabHome } from '../support/lab-home.js'
import { runProgram } from '../support/program.js'
import { until } from '../support/until.js'

const ENTRY = path.join(import.meta.dirname, '..', '..', 'dist', 'main.js')
const UP = ['--ports', 'random', '--name', 'one']

describe('a lab', () => {
  it('one of two concurrent starts of a lab succeeds, and a start of a running lab is rejected', async () => {
    await using home = new LabHome()
    const [one, other] = await Promise.all([home.run('up', 'single', ...UP), home.run('up', 'single', ...UP)])
    expect([one.status, other.status].sort()).toEqual([0, 5])
    expect(one.stderr + other.stderr).toMatch(/the lab "one" is (being started by process \d+|running)/)
    expect(await home.run('up', 'single', ...UP)).toMatchObject({
      status: 5,
      stderr: expect.stringContaining('the lab "one" is running; "understudy down one" stops it'),
    })
    expect(home.servers()).toHaveLength(1)
    expect((await home.run('down', 'one')).status).toBe(0)
    expect([home.processes(), home.left()]).toEqual([[], []])
  })

  it('the start of a lab retries on other ports if a chosen port is taken', async () => {
    await using home = new LabHome()
    await using holder = await PortHolder.listen()
    vi.stubEnv('XDG_STATE_HOME', home.directory)
    const taken = new Map([['A', { api: holder.port, cluster: holder.port + 1 }]])
    const choices = [taken, await randomPorts(['A'])]
    const told: string[] = []
    const listening = listenToProgress((event) => event.on === 'note' && told.push(event.text))
    const host = thisHost()
    const { clusters } = await upLab(
      {
        name: 'one',
        topology: requireTopology('single'),
        choosePorts: async () => choices.shift() ?? new Map(),
        settings: {},
        shares: 1,
        threshold: 1,
        timeoutMs: 120_000,
        clock: host.clock,
      },
      host,
    ).finally(() => {
      listening[Symbol.dispose]()
      vi.unstubAllEnvs()
    })
    expect(told).toContain(`port ${holder.port} is in use (process ${process.pid}): choosing other ports`)
    expect([clusters[0]?.ports.api !== holder.port, choices]).toEqual([true, []])
    expect(home.servers()).toHaveLength(1)
    expect((await home.run('down', 'one')).status).toBe(0)
    expect([home.processes(), home.left()]).toEqual([[], []])
  })

  it('start unseals sealed servers, and creates a new cluster if the data was removed', async () => {
    await using home = new LabHome()
    const on = (...args: string[]) => home.run(...args, '--name', 'one')
    expect((await home.run('up', 'dr', ...UP, '--shamir', '3/2')).status).toBe(0)
    expect((await on('seal', 'A')).status).toBe(0)
    expect(await on('start', 'A')).toMatchObject({ status: 0, stderr: expect.stringContaining('is ready at') })
    expect((await on('status')).stdout).not.toContain('sealed')
    expect((await on('stop', 'B')).status).toBe(0)
    expect(await on('wipe', 'B', 'A'), 'the data of B is not removed').toMatchObject({
      status: 5,
      stderr: expect.stringMatching(/^understudy: cluster A is running; .*stop A --name one/),
    })
    expect(await on('wipe', 'B')).toMatchObject({
      status: 0,
      stderr: expect.stringContaining('WARNING: the data of cluster B is erased'),
    })
    expect(await on('start', 'B')).toMatchObject({
      status: 0,
      stderr: expect.stringContaining('cluster B had no data and was initialized as a new cluster at'),
    })
    expect(await on('activate', 'A', 'B', '--kind', 'dr')).toMatchObject({
      status: 0,
      stderr: expect.stringContaining('B is a dr secondary of A and replicated'),
    })
    expect((await on('down')).status).toBe(0)
  })

  it('commands that erase data ask for confirmation on a terminal', async () => {
    await using home = new LabHome()
    expect((await home.run('up', 'single', ...UP, '--in-process')).status).toBe(0)
    const down = async (answer: string, ...flags: readonly string[]) => {
      const command = `${process.execPath} ${ENTRY} down one ${flags.join(' ')}`
      const env = { PATH: process.env.PATH, XDG_STATE_HOME: home.directory, SHELL: '/bin/sh' }
      const terminal = spawn('script', ['-qec', command, '/dev/null'], { env, stdio: ['pipe', 'pipe', 'ignore'] })
      let shown = ''
      terminal.stdout.on('data', (chunk: Buffer) => {
        shown += chunk.toString()
        if (shown.endsWith('Continue? (y/N) ')) terminal.stdin.write(answer)
      })
      const status = await new Promise((resolve) => terminal.once('close', resolve))
      return { status, shown }
    }
    expect(await down('n\n')).toEqual({ status: 130, shown: expect.stringContaining('not confirmed') })
    expect((await down('\x03')).shown).not.toContain('is down')
    expect(home.left()).toEqual(['one'])
    expect(await down('y\n')).toEqual({
      status: 0,
      shown: expect.stringMatching(/WARNING: the data and keys of the lab "one" are erased(?:.|\s)*is down/),
    })
    expect((await home.run('up', 'single', ...UP, '--in-process')).status).toBe(0)
    expect(await down('', '--yes')).toEqual({ status: 0, shown: expect.not.stringContaining('Continue?') })
    expect([home.processes(), home.left()]).toEqual([[], []])
  })

  it('lab commands signal no unrelated process with a recorded ID', async () => {
    await using home = new LabHome()
    await using stranger = new Stranger()
    const up = await home.run('up', 'single', ...UP)
    expect(up, 'a single cluster replicates nothing').toMatchObject({
      status: 0,
      stderr: expect.stringMatching(/^ready after/m),
    })
    const [server] = home.servers()
    process.kill(server ?? 0, 'SIGKILL')
    await until(() => home.servers().length === 0)
    const record = home.record('one')
    const clusters = record.clusters.map((cluster) => ({
      ...cluster,
      process: { ...cluster.process, pid: stranger.pid },
    }))
    writeFileSync(path.join(home.labs, 'one', 'lab.json'), JSON.stringify({ ...record, clusters }))

    const status = () => home.run('status', '--name', 'one')
    expect(await home.run('crash', 'A', '--name', 'one')).toMatchObject({ status: 5 })
    expect(await status()).toMatchObject({ status: 2, stderr: expect.stringContaining('A has crashed') })
    expect(await home.run('stop', 'A', '--name', 'one')).toMatchObject({ status: 0 })
    expect(await status()).toMatchObject({ status: 2, stderr: expect.stringContaining('A is stopped') })
    expect((await home.run('down', 'one')).status).toBe(0)
    expect(stranger.isAlive).toBe(true)
  })

  it('a lab can be found and removed after its start was killed or its record was damaged', async () => {
    await using home = new LabHome()
    await using up = home.begin('up', 'dr', ...UP)
    await up.untilPrinted('is unsealed at')
    up.signal('SIGKILL')
    await up.end()
    expect(home.servers()).toHaveLength(2)
    expect((await home.run('ls')).stdout).toMatch(/one .*incomplete .*2 of 2 .*"understudy down one" removes it/)
    expect(await home.run('up', 'dr', ...UP)).toMatchObject({
      status: 5,
      stderr: expect.stringContaining('is incomplete; '),
    })

    writeFileSync(path.join(home.labs, 'one', 'lab.json'), '{"name":')
    for (const args of [['status'], ['env', 'A'], ['up', 'single', '--ports', 'random'], ['start']]) {
      const { status, stderr } = await home.run(...args, '--name', 'one')
      expect([status, stderr], args.join(' ')).toEqual([5, expect.stringContaining('lab.json is damaged')])
    }
    expect((await home.run('ls')).stdout).toMatch(/one .*damaged/)
    // A directory that an ended process of another state directory left behind.
    const other = mkdtempSync(path.join(tmpdir(), `understudy-drill-${up.pid}-`))
    onTestFinished(() => rmSync(other, { recursive: true, force: true }))
    const down = await home.run('down', '--all', '--json')
    expect([down.status, JSON.parse(down.stdout)]).toEqual([0, [{ lab: 'one', result: 'down' }]])
    expect(existsSync(other)).toBe(true)
    expect(JSON.parse((await home.run('down', 'one', '-o', 'json')).stdout)).toEqual([
      { lab: 'one', result: 'missing' },
    ])
    expect([home.processes(), home.left()]).toEqual([[], []])
  })

  it('the start of a lab reports an exited server at once with its last lines, and keeps its logs', async () => {
    await using home = new LabHome()
    const up = home.begin('up', 'dr', ...UP)
    await until(() => home.servers().length > 0)
    const [first] = home.servers()
    process.kill(first ?? 0, 'SIGKILL')
    expect(await up.end()).toBe(2)
    expect(up.stderr).toContain('was killed by SIGKILL')
    expect(home.servers()).toEqual([])
    expect(home.record('one')).toMatchObject({ state: 'failed' })
    for (const { logFile, dataDir } of home.record('one').clusters.slice(0, 1)) {
      expect([existsSync(logFile), existsSync(dataDir)]).toEqual([true, false])
    }
    for (const words of ['status', 'start', 'env A', 'wait', 'fault ls', 'failover A B', 'reset', 'probe'])
      expect(await home.run(...words.split(' '), '--name', 'one'), words).toMatchObject({
        status: 5,
        stderr: expect.stringContaining('the lab "one" failed to start and is not running'),
      })
    expect(home.processes()).toEqual([])
    expect((await home.run('logs', '--name', 'one')).status).toBe(0)
    expect((await home.run('up', 'single', ...UP)).status).toBe(0)
    expect((await home.run('down', 'one')).status).toBe(0)
  })

  it('the start of a lab fails at once if its data cannot be stored', async () => {
    await using home = new LabHome()
    const { status, stderr } = await home.run('up', 'single', ...UP, '--data-dir', '/proc/none')
    expect([status, stderr]).toEqual([1, expect.stringContaining('choose another --data-dir')])
    expect([home.left(), stderr]).toEqual([[], expect.not.stringContaining('the servers that were started')])
  })

  it('a lab keeps its data after servers were killed, stopped or frozen, and after "down --keep"', async () => {
    await using home = new LabHome()
    const on = (...args: string[]) => home.run(...args, '--name', 'one')
    const vault = (...args: string[]) =>
      home.run('exec', '--name', 'one', 'A', '--', process.execPath, 'dist/main.js', 'vault', ...args)
    expect((await home.run('up', 'dr', ...UP, '--shamir', '3/2')).status).toBe(0)
    expect((await vault('secrets', 'enable', '-path=kv', 'kv')).stderr).toBe('')
    expect((await vault('write', 'kv/a', 'word=kept')).status).toBe(0)
    for (const end of [['crash', 'A'], ['stop'], ['down', '--keep']]) {
      expect((await on(...end)).status, end.join(' ')).toBe(0)
      expect((await on('start')).status, end.join(' ')).toBe(0)
      expect((await on('wait', '--for', 'replicated')).status, end.join(' ')).toBe(0)
      expect((await vault('read', '-field=word', 'kv/a')).stdout.trim(), end.join(' ')).toBe('kept')
    }
    expect((await on('pause', 'B')).status).toBe(0)
    expect(await on('status')).toMatchObject({ status: 2, stderr: expect.stringContaining('B is paused') })
    const silent = (text: string) => ({
      status: 2,
      stdout: '',
      stderr: expect.stringContaining(`understudy: cluster ${text}\n`),
    })
    expect(await on('env', 'B')).toEqual(silent('B is paused; "understudy resume B --name one" resumes it'))
    expect((await on('stop', 'A')).status).toBe(0)
    expect(await on('env', 'A')).toEqual(silent('A is stopped; "understudy start A --name one" starts it'))
    expect((await on('start', 'A')).status).toBe(0)
    expect((await on('resume', 'B')).status).toBe(0)
    expect((await on('seal', 'A')).status).toBe(0)
    expect(await on('status')).toMatchObject({ status: 2, stderr: expect.stringContaining('A is sealed') })
    expect((await on('unseal', 'A')).status).toBe(0)
    expect((await on('pause', 'A', 'B')).status).toBe(0)
    expect((await home.run('down', 'one')).status).toBe(0)
    expect([home.processes(), home.left()]).toEqual([[], []])
  })

  it('a reachable lab requires a token for faults, and its own commands have the token', async () => {
    await using home = new LabHome()
    const on = (...args: string[]) => home.run(...args, '--name', 'one')
    expect(await on('up', 'single', '--ports', 'random', '--bind', '0.0.0.0')).toMatchObject({ status: 0 })
    const [cluster] = home.record('one').clusters
    const own = `${cluster?.apiAddress}/_understudy/v1`
    const skew = (headers: Record<string, string>) =>
      fetch(`${own}/clock`, { method: 'POST', headers, body: '{"skew": "5m"}' })
    expect((await skew({})).status).toBe(403)
    expect((await skew({ 'X-Understudy-Token': cluster?.labApiToken ?? '' })).status).toBe(204)
    expect(await on('fault', 'skew', 'A', '+5m')).toMatchObject({ status: 0 })
    expect(await on('heal', '--all')).toMatchObject({ status: 0 })
    expect(await on('snapshot', 'save', 'kept')).toMatchObject({ status: 0 })
    expect(await on('reset')).toMatchObject({ status: 0 })
    expect((await on('down')).status).toBe(0)
    expect((await on('up', 'single', '--ports', 'random')).status).toBe(0)
    expect(home.record('one').clusters[0]?.labApiToken).toBeUndefined()
  })

  it('the start of a lab fails if the lab cannot prove that it replicates', async () => {
    await using home = new LabHome()
    const file = path.join(home.directory, 'topology.yaml')
    const seed = 'clusters:\n  A: { seed: { mounts: { rehearsal: { version: 2 } } } }\n  B: {}\n'
    writeFileSync(
      file,
      `apiVersion: understudy/v1\nkind: Topology\nname: odd\n${seed}links:\n  - { kind: dr, primary: A, secondary: B }\n`,
    )
    const { status, stdout, stderr } = await home.run('up', '-f', file, ...UP, '--foreground', '--prove')
    expect([status, stdout, stderr]).toEqual([2, '', expect.stringContaining('rehearsal/greeting')])
    expect(stderr).toContain(`the lab was removed; its logs are in ${home.record('one').directory}`)
    expect([home.record('one').state, home.processes()]).toEqual(['failed', []])
  })

  it('a chosen root token is not visible in the process list', async () => {
    await using home = new LabHome()
    const token = `hidden-${process.pid}-token`
    await using up = home.begin('up', 'single', '--ports', 'random', '--foreground', '--root-token', token)
    await up.untilPrinted('Ctrl-C stops it')
    const lines = readdirSync('/proc').flatMap((pid) => {
      try {
        return /^\d+$/.test(pid) ? [readFileSync(`/proc/${pid}/cmdline`, 'utf8')] : []
      } catch {
        return []
      }
    })
    expect(lines.filter((line) => line.includes(token))).toEqual([])
    up.signal('SIGINT')
    expect(await up.end()).toBe(130)
  })

  it('env prints the environment of a role, with its valid token', async () => {
    await using home = new LabHome()
    const env = async (...args: string[]) => (await home.run('env', ...args, '--name', 'one')).stdout
    expect((await home.run('up', 'dr', ...UP)).status).toBe(0)
    const [a, b] = home.record('one').clusters
    expect(await env('--role', 'dr-primary')).toBe(
      `export VAULT_ADDR=${a?.apiAddress}\nexport VAULT_TOKEN=${a?.rootToken}\n`,
    )
    const beside = { env: { XDG_STATE_HOME: home.directory, VAULT_CACERT: '/of/another/lab.pem' } }
    expect((await runProgram(['env', 'A', '--name', 'one'], beside)).stdout).toContain('unset VAULT_CACERT\n')
    expect(await env('B')).toMatch(/unset VAULT_TOKEN\n# B is a DR secondary/)

    const token = await operationToken(home)
    const promote = [
      'vault',
      'write',
      '-f',
      'sys/replication/dr/secondary/promote',
      `dr_operation_token=${token}`,
      'force=true',
    ]
    expect((await home.run('crash', 'A', '--name', 'one')).status).toBe(0)
    expect(
      await home.run('exec', 'B', '--name', 'one', '--', process.execPath, 'dist/main.js', ...promote),
    ).toMatchObject({ status: 0 })
    const expected = `export VAULT_ADDR=${b?.apiAddress}\nexport VAULT_TOKEN=${a?.rootToken}\n`
    await until(async () => (await env('--role', 'dr-primary')) === expected)
    expect((await home.run('start', 'A', '--name', 'one')).status).toBe(0)
    expect(await home.run('status', '--name', 'one')).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('A and B are both DR primaries of one replication set'),
    })
    expect(await home.run('exec', 'A', '--name', 'one', '--', 'sh', '-c', 'exit 7')).toMatchObject({ status: 7 })
  })
})

describe('arguments of a lab', () => {
  it('lab commands check their arguments before anything starts', async () => {
    await using home = new LabHome()
    const refusals: readonly [readonly string[], number, string][] = [
      [['up', 'pr-drr'], 1, 'did you mean "pr-dr"?'],
      [['up', 'dr', '--port-base', '70000'], 1, '"70000" is not a port from 1 to 65535'],
      [['up', 'six', '--port-base', '65500'], 1, 'is too high: the last cluster would need port 65551'],
      [['up', 'dr', '--shamir', '3/5'], 1, 'the threshold must be from 1 to 3, the number of shares, not 5'],
      [['up', 'dr', '--shamir', '300/2'], 1, 'must be from 1 to 255, not 300'],
      [['up', 'dr', '--timeout', 'soon'], 1, '"soon" is not a positive duration'],
      [['up', 'dr', '--name', '../x'], 1, 'is not a valid lab name'],
      [['status', '--name', 'none'], 1, 'there is no lab "none"'],
      [['start', 'Q', '--name', 'none'], 1, 'there is no lab "none"'],
      [['down', 'one', '--all'], 1, 'specify a lab or --all, not both'],
      [['down', '--all', '--name', 'one'], 1, 'specify a lab or --all, not both'],
      [['down', 'one', '--name', 'two'], 1, 'two labs are specified: "one" and "two"'],
    ]
    for (const [args, status, text] of refusals) {
      const answer = await home.run(...args)
      expect([answer.status, answer.stderr], args.join(' ')).toEqual([status, expect.stringContaining(text)])
      expect(answer.stderr, args.join(' ')).not.toMatch(/\n\s+at /)
    }
    expect([home.left(), home.processes()]).toEqual([[], []])
  })

  it('lab commands name the process that uses a port', async () => {
    await using home = new LabHome()
    await using holder = await PortHolder.listen()
    const { status, stderr } = await home.run('up', 'single', '--port-base', String(holder.port))
    expect([status, stderr]).toEqual([
      5,
      expect.stringContaining(`port ${holder.port}, which cluster A requires, is in use (process ${process.pid})`),
    ])
  })

  it('lab commands explain that the state directory is not writable', async () => {
    const { status, stderr } = await runProgram(['up', 'single', '--ports', 'random'], { env: { HOME: '/proc' } })
    expect([status, stderr]).toEqual([1, expect.stringMatching(/cannot create .*; set XDG_STATE_HOME/)])
  })

  it('lab commands reject a file as --data-dir', async () => {
    await using home = new LabHome()
    const { status, stderr } = await home.run('up', 'single', '--ports', 'random', '--data-dir', import.meta.filename)
    expect([status, stderr]).toEqual([1, expect.stringContaining('is not a directory; choose another --data-dir')])
    expect((await home.run('ls')).stdout).not.toContain('incomplete')
  })
})

/** A process that is unrelated to labs. */
class Stranger implements AsyncDisposable {
  readonly #child: ChildProcess = spawn('sleep', ['600'], { stdio: 'ignore' })

  get pid(): number {
    return this.#child.pid ?? 0
  }

  get isAlive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill('SIGKILL')
  }
}

class PortHolder implements AsyncDisposable {
  readonly port: number
  readonly #server: net.Server

  private constructor(server: net.Server) {
    this.#server = server
    this.port = (server.address() as net.AddressInfo).port
  }

  static listen(): Promise<PortHolder> {
    return new Promise((resolve) => {
      const server = net.createServer((socket) => socket.destroy())
      server.listen(0, '127.0.0.1', () => resolve(new PortHolder(server)))
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await new Promise((done) => this.#server.close(done))
  }
}

/** Generates an operation token on B with the key share of A. */
const operationToken = async (home: LabHome): Promise<string> => {
  const key = home.record('one').clusters[0]?.unsealKeys[0] ?? ''
  const vault = (...args: string[]) =>
    home.run(
      'exec',
      'B',
      '--name',
      'one',
      '--',
      process.execPath,
      'dist/main.js',
      'vault',
      'operator',
      'generate-root',
      '-dr-token',
      ...args,
    )
  const attempt = JSON.parse((await vault('-init', '-format=json')).stdout) as { otp: string; nonce: string }
  const done = JSON.parse((await vault(`-nonce=${attempt.nonce}`, '-format=json', key)).stdout) as {
    encoded_token: string
  }
  return (await vault(`-decode=${done.encoded_token}`, `-otp=${attempt.otp}`)).stdout.trim()
}
