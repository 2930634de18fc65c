import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { constants } from 'node:os'
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../src/base/clock.js'
import { ApiClient, errorsOf } from '../../src/client/api-client.js'
import { initialize, waitForAnswer } from '../../src/lab/requests/replication.js'
import { waitFor } from '../../src/lab/requests/wait.js'
import { freePorts } from '../support/local-config.js'
import {
  disposeAfterTest,
  Program,
  type ProgramOptions,
  runProgram,
  STARTED,
  TestDirectory,
  writeServerConfig,
} from '../support/program.js'

/** The server as a process: start, failed start, logs and exit. */
const WAIT_MS = 20_000

const place = (): TestDirectory => disposeAfterTest(new TestDirectory())

const start = (args: readonly string[], options?: ProgramOptions): Program =>
  disposeAfterTest(new Program(['server', ...args], options))

/** Writes a configuration with free ports; `more` is appended. */
const site = (more = '') => writeServerConfig(place(), more)

const untilAnswers = (client: ApiClient) => waitForAnswer(systemClock, client, 'A', WAIT_MS)

describe('a start', () => {
  it('the server prints a banner and then the line that scripts wait for, and answers', async () => {
    const { config, client, api } = await site('surprise = 1\n')
    const program = start([`-config=${config}`])
    await program.untilPrinted(STARTED)
    expect(program.stdout).toContain(`tcp (http://127.0.0.1:${api})`)
    expect(program.stdout).toContain('independent simulator')
    expect(program.stderr).toContain(`${config}:9: unknown or unsupported field surprise found in configuration`)
    expect(await client.read('sys/init')).toEqual({ initialized: false })
  })

  it('the server lists every configuration error and exits with 1', async () => {
    const { config } = await site(
      'log_level = "loud"\nmax_lease_ttl = "soon"\nunderstudy {\n  sync_writes = "perhaps"\n}\n',
    )
    const { status, stderr } = await runProgram(['server', `-config=${config}`])
    expect(status).toBe(1)
    for (const place of [
      `${config}:9: unknown log level`,
      `${config}:10: max_lease_ttl must be`,
      `${config}:12: sync_writes must be`,
    ])
      expect(stderr).toContain(place)
  })

  it('the server reads VAULT_LOCAL_CONFIG as one more file', async () => {
    const { config, client } = await site()
    const env = { VAULT_LOCAL_CONFIG: '{"cluster_name": "from the variable"}' }
    const program = start([`-config=${config}`], { env })
    await program.untilPrinted(STARTED)
    const { rootToken } = await initialize(client, 1, 1)
    expect((await client.with({ token: rootToken }).read('sys/health')).cluster_name).toBe('from the variable')
  })

  it('the version command prints the version in its first line', async () => {
    for (const flag of ['-version', '-v', '--version', 'version']) {
      const { status, stdout } = await runProgram([flag])
      expect([status, stdout.split('\n')[0]]).toEqual([
        0,
        expect.stringMatching(/^Understudy \d+\.\d+\.\d+ \(reports v\d+\.\d+\.\d+\+ent\)$/),
      ])
    }
  })

  it('config show prints the effective settings', async () => {
    const { config } = await site('understudy {\n  lab_api_token = "very-secret"\n}\n')
    const table = await runProgram(['config', 'show', '--origin', `-config=${config}`])
    expect(table.status).toBe(0)
    expect(table.stdout).toMatch(/^understudy\.lab_api_token +\(hidden\) +\S+server\.hcl:10$/m)
    expect(table.stdout).toMatch(/^understudy\.license +enterprise +default$/m)
    const json = await runProgram(['config', 'show', '--json', `-config=${config}`, '-log-level=warn'])
    expect(json.stdout).not.toContain('very-secret')
    const { settings } = JSON.parse(json.stdout) as { settings: unknown[] }
    expect(settings).toContainEqual({ name: 'log_level', value: 'warn', origin: '-log-level' })
    expect((await runProgram(['config', 'show', '-config=/nowhere'])).status).toBe(1)
  })
})

describe('what is taken', () => {
  it('a second server on the same address or data exits with 5 and names the owner', async () => {
    const { at, config, api, cluster } = await site()
    const first = start([`-config=${config}`])
    await first.untilPrinted(STARTED)
    const other = await freePorts()
    const text = (path: string, apiPort: number, clusterPort: number) =>
      JSON.stringify({
        listener: {
          tcp: { address: `127.0.0.1:${apiPort}`, cluster_address: `127.0.0.1:${clusterPort}`, tls_disable: true },
        },
        storage: { raft: { path } },
      })
    const cases = [
      ['directory.json', text(at.path('data'), other.api, other.cluster), at.path('data')],
      ['api.json', text(at.path('data2'), api, other.cluster), `127.0.0.1:${api}`],
      ['both.json', text(at.path('data4'), api, cluster), `127.0.0.1:${api}`],
      ['cluster.json', text(at.path('data3'), other.api, cluster), `127.0.0.1:${cluster}`],
    ] as const
    for (const [name, content, taken] of cases) {
      const { status, stderr } = await runProgram(['server', `-config=${at.write(name, content)}`])
      expect([name, status], stderr).toEqual([name, 5])
      expect(stderr).toContain(taken)
      expect(stderr).toContain(`(process ${first.pid})`)
    }
  })

  it('addresses and data of a killed server can be reused immediately', async () => {
    const { config, client } = await site()
    for (let round = 0; round < 3; round++) {
      const program = start([`-config=${config}`])
      await program.untilPrinted(STARTED)
      await untilAnswers(client)
      if (round === 0) await initialize(client, 1, 1)
      program.signal('SIGKILL')
      expect(await program.exit).toBe('SIGKILL')
    }
  })
})

describe('a stop', () => {
  /** Sends a request whose body is incomplete. */
  const slowRequest = async (api: number, token: string, sent: string, rest: string) => {
    const body = sent + rest
    const socket = connect(api, '127.0.0.1')
    let answer = ''
    const ended = new Promise<void>((resolve) => socket.once('close', () => resolve()))
    socket.on('data', (chunk) => {
      answer += String(chunk)
    })
    socket.on('error', () => undefined)
    await new Promise<void>((resolve) => socket.once('connect', () => resolve()))
    const head = `PUT /v1/sys/policies/acl/slow HTTP/1.1\r\nHost: a\r\nX-Vault-Token: ${token}\r\nContent-Length: ${body.length}\r\n\r\n`
    socket.write(head + sent)
    return { ended, finish: () => socket.write(rest), answer: () => answer, end: () => socket.destroy() }
  }

  const openSite = async () => {
    const { at, api, config, client } = await site()
    const pidFile = at.path('pid')
    writeFileSync(config, `${readFileSync(config, 'utf8')}pid_file = "${pidFile}"\n`)
    const program = start([`-config=${config}`])
    await program.untilPrinted(STARTED)
    const { rootToken } = await initialize(client, 1, 1)
    return { api, program, rootToken, pidFile }
  }

  const untilRefused = (port: number) =>
    waitFor(
      systemClock,
      'connections to be refused',
      async () => ((await isRefused(port)) ? undefined : 'it still accepts'),
      WAIT_MS,
    )

  const isRefused = (port: number): Promise<boolean> =>
    new Promise((resolve) => {
      const socket = connect(port, '127.0.0.1')
      socket.once('connect', () => {
        socket.destroy()
        resolve(false)
      })
      socket.once('error', () => resolve(true))
    })

  it('SIGTERM makes the server reject connections, complete pending requests, and exit with 0', async () => {
    const { api, program, rootToken, pidFile } = await openSite()
    expect(readFileSync(pidFile, 'utf8')).toBe(`${program.pid}\n`)
    const request = await slowRequest(api, rootToken, '{"policy":"path \\"x\\" {', '}"}')
    await untilReadThrough(api)
    program.signal('SIGTERM')
    await untilRefused(api)
    request.finish()
    await request.ended
    expect(request.answer()).toMatch(/^HTTP\/1\.1 204 /)
    expect(await program.exit).toBe(0)
    expect(existsSync(pidFile)).toBe(false)
  })

  it.each(['SIGTERM', 'SIGINT'] as const)(
    '%s during the first log line always ends the server with 0',
    async (name) => {
      for (let round = 0; round < 5; round++) {
        const { api } = await freePorts()
        const program = start(['-dev', `-dev-listen-address=127.0.0.1:${api}`])
        program.onFirstOutput(() => program.signal(name))
        expect(await program.exit).toBe(0)
      }
    },
  )

  it('SIGHUP never stops the server, even during its start', async () => {
    const { api } = await freePorts()
    const program = start(['-dev', `-dev-listen-address=127.0.0.1:${api}`])
    await untilHeard(program.pid, 'SIGHUP')
    program.signal('SIGHUP')
    await program.untilPrinted(STARTED)
    program.signal('SIGTERM')
    expect(await program.exit).toBe(0)
  })

  /** Waits until the process handles a signal, as the kernel reports it. */
  const untilHeard = (pid: number, name: NodeJS.Signals) =>
    waitFor(
      systemClock,
      `${name} to be heard`,
      async () => {
        const [, caught = '0'] = /^SigCgt:\s*(\w+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
        return (BigInt(`0x${caught}`) >> BigInt(constants.signals[name] - 1)) & 1n ? undefined : 'not yet'
      },
      WAIT_MS,
    )

  it('a second SIGTERM stops the server at once', async () => {
    const { api, program, rootToken } = await openSite()
    const request = await slowRequest(api, rootToken, '{"policy":', '""}')
    await untilReadThrough(api)
    program.signal('SIGTERM')
    await untilRefused(api)
    program.signal('SIGTERM')
    expect(await program.exit).toBe(0)
    await request.ended
    expect(request.answer()).toBe('')
  })

  /** Waits until the server has read all earlier bytes: it answers a later request. */
  const untilReadThrough = async (api: number) => {
    const client = new ApiClient({ address: `http://127.0.0.1:${api}` })
    await client.read('sys/seal-status')
    await client.read('sys/seal-status')
    client.close()
  }
})

describe('standard output and error', () => {
  it('output that no process reads does not stop the server, which still ends on a signal', async () => {
    const { config, client } = await site()
    const program = start([`-config=${config}`, '-log-level=trace'], { isRead: false })
    await untilAnswers(client)
    const { rootToken } = await initialize(client, 1, 1)
    const root = client.with({ token: rootToken })
    await root.write('sys/audit/out', { type: 'file', options: { file_path: 'stdout', log_raw: true } })
    // More than a pipe can hold, in audit lines to standard output.
    const filler = 'x'.repeat(2000)
    for (let round = 0; round < 200; round++) {
      await root.write('sys/policies/acl/filler', { policy: `# ${filler}\npath "x" {}` })
    }
    expect((await root.send('GET', 'sys/health')).status).toBe(200)
    program.signal('SIGTERM')
    expect(await program.exit).toBe(0)
  })

  it('the server writes no line per request at the default log level', async () => {
    const { config, client } = await site()
    const program = start([`-config=${config}`])
    await program.untilPrinted(STARTED)
    const { rootToken } = await initialize(client, 1, 1)
    const before = program.stderr.length + program.stdout.length
    const root = client.with({ token: rootToken })
    for (let round = 0; round < 50; round++) await root.read('sys/mounts')
    expect(program.stderr.length + program.stdout.length).toBe(before)
  })
})

describe('a licence', () => {
  it.each([
    ['plus', 'dr', 400],
    ['none', 'performance', 404],
    ['none', 'dr', 404],
  ])('the license "%s" does not permit a primary of %s', async (license, kind, status) => {
    const { config, client } = await site()
    const program = start([`-config=${config}`], { env: { UNDERSTUDY_LICENSE: license } })
    await program.untilPrinted(STARTED)
    const { rootToken } = await initialize(client, 1, 1)
    const answer = await client
      .with({ token: rootToken })
      .send('POST', `sys/replication/${kind}/primary/enable`, { body: {} })
    expect(answer.status).toBe(status)
    expect(errorsOf(answer).join()).not.toBe('')
  })

  it('the license "plus" includes performance replication', async () => {
    const { config, client } = await site('understudy {\n  license = "plus"\n}\n')
    const program = start([`-config=${config}`])
    await program.untilPrinted(STARTED)
    const { rootToken } = await initialize(client, 1, 1)
    const root = client.with({ token: rootToken })
    expect((await root.send('POST', 'sys/replication/performance/primary/enable', { body: {} })).status).toBe(200)
  })
})

describe('a licence that does not include a role', () => {
  it.each([
    ['none', 'performance', 'performance replication'],
    ['none', 'dr', 'DR replication'],
    ['plus', 'dr', 'DR replication'],
  ])('the license "%s" prevents the start of a cluster with a role in %s', async (license, kind, what) => {
    const { config, client } = await site()
    const first = start([`-config=${config}`])
    await first.untilPrinted(STARTED)
    const { rootToken } = await initialize(client, 1, 1)
    const root = client.with({ token: rootToken })
    await root.write(`sys/replication/${kind}/primary/enable`, {})
    first.signal('SIGTERM')
    expect(await first.exit).toBe(0)
    const second = start([`-config=${config}`], { env: { UNDERSTUDY_LICENSE: license } })
    expect(await second.end()).toBe(1)
    expect(second.stderr).toContain(`the license "${license}" does not include ${what}`)
    const third = start([`-config=${config}`])
    await third.untilPrinted(STARTED)
  })
})

describe('the working directory', () => {
  it('the server resolves a relative data path from its working directory', async () => {
    const at = place()
    const { api, cluster } = await freePorts()
    mkdirSync(at.path('below'))
    const config = at.write(
      'c.json',
      JSON.stringify({
        listener: { tcp: { address: `127.0.0.1:${api}`, cluster_address: `127.0.0.1:${cluster}`, tls_disable: true } },
        storage: { file: { path: 'data' } },
      }),
    )
    const program = start([`-config=${config}`], { cwd: at.path('below') })
    await program.untilPrinted(STARTED)
    expect(readdirSync(at.path('below'))).toEqual(['data'])
    expect((await new ApiClient({ address: `http://127.0.0.1:${api}` }).read('sys/seal-status')).storage_type).toBe(
      'file',
    )
  })
})
