import { spawn } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { LabHome } from '../support/lab-home.js'
import { runProgram } from '../support/program.js'

/**
 * The common behavior of all commands, with the real program. test/unit/cli/help.test.ts checks every command in
 * process.
 */

const ENTRY = path.join(import.meta.dirname, '..', '..', 'dist', 'main.js')

/** One command for each way in which arguments are parsed. */
const SAMPLE = [['up'], ['fault', 'latency'], ['server'], ['config', 'show'], ['version']]

describe('a command', () => {
  it.each(SAMPLE)('%j prints its help on standard output and ends with 0', async (...words) => {
    const { status, stdout, stderr } = await runProgram([...words, '--help'])
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(stdout).toContain(`Usage: understudy ${words.join(' ')}`)
  })

  it.each(SAMPLE)('%j ends with 1 and names an option that it does not know', async (...words) => {
    const { status, stderr } = await runProgram([...words, '--no-such-thing'])
    expect(status).toBe(1)
    expect(stderr).toContain('no-such-thing')
    expect(stderr).not.toContain('    at ')
  })
})

describe('a misspelt word', () => {
  it.each([
    [['fault', 'partion', 'A', 'B'], '(Did you mean partition?)'],
    [['up', 'pr-dr', '--jsn'], '(Did you mean --json?)'],
    [['up', 'pr-rd'], 'did you mean "pr-dr"?'],
    [['runbook', 'fail'], '(Did you mean failover?)'],
    [['wait', '--for', 'convergd'], '(Did you mean converged?)'],
    [['completion', 'bsh'], '(Did you mean bash?)'],
    [['vault', 'kvv'], 'Did you mean "kv"?'],
    [['vault', 'staus'], 'Did you mean "status"?'],
    [['vault', 'status', '-adress=x'], 'Did you mean -address?'],
  ])('%j gets a suggestion', async (args, question) => {
    const { status, stdout, stderr } = await runProgram(args)
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
    if (args[0] !== 'vault') expect(stderr).toMatch(/^understudy: /)
    expect(stderr).toContain(question)
  })
})

describe('data', () => {
  it('doctor prints a table, JSON or YAML by --output', async () => {
    await using home = new LabHome()
    const json = JSON.parse((await home.run('doctor', '--json')).stdout) as { name: string }[]
    expect(json.map(({ name }) => name)).toContain('storage')
    expect(JSON.parse((await home.run('doctor', '-o', 'json')).stdout)).toHaveLength(json.length)
    expect(parse((await home.run('doctor', '--output', 'yaml')).stdout)).toHaveLength(json.length)
    expect((await home.run('doctor', '-o', 'table')).stdout).toMatch(/^ok +node/m)
    const { status, stderr } = await home.run('doctor', '-o', 'xml')
    expect([status, stderr]).toEqual([1, expect.stringContaining('table, json, yaml')])
  })

  it('data goes to standard output alone, and --quiet omits progress', async () => {
    await using home = new LabHome()
    const loud = await home.run('ls')
    expect(loud).toMatchObject({ status: 0, stdout: '', stderr: expect.stringContaining('there are no labs') })
    expect(await home.run('ls', '--quiet')).toEqual({ status: 0, stdout: '', stderr: '' })
    expect(await home.run('--quiet', 'ls')).toEqual({ status: 0, stdout: '', stderr: '' })
  })
})

describe('a mistake of the program', () => {
  it('an unexpected error prints one line, and its stack goes to a file that only the owner can read', async () => {
    await using home = new LabHome()
    const directory = path.join(home.labs, 'odd')
    mkdirSync(directory, { recursive: true })
    const record = { name: 'odd', state: 'running', owner: { pid: 1 }, clusters: [{ name: 'A' }] }
    writeFileSync(path.join(directory, 'lab.json'), JSON.stringify(record))
    const { status, stdout, stderr } = await home.run('env', 'A', '--name', 'odd')
    expect([status, stdout]).toEqual([1, ''])
    expect(stderr).toMatch(/^understudy: unexpected: [^\n]+"understudy doctor"[^\n]+\n$/)
    const errors = path.join(home.directory, 'understudy', 'errors')
    const [file = ''] = readdirSync(errors)
    expect(stderr).toContain(path.join(errors, file))
    expect(readFileSync(path.join(errors, file), 'utf8')).toMatch(/TypeError.*\n\s+at /)
    expect(statSync(path.join(errors, file)).mode & 0o777).toBe(0o600)
  })
})

describe('a command that waits', () => {
  it('wait reports on standard error what it waits for', async () => {
    const args = ['wait', '--addr', 'http://127.0.0.1:1', '--for', 'answering', '--timeout', '3s']
    const { status, stderr } = await runProgram(args)
    expect(status).toBe(4)
    expect(stderr).toContain(
      'waiting for http://127.0.0.1:1 to be answering: no server listens on http://127.0.0.1:1 yet',
    )
    const quiet = await runProgram([...args, '--quiet'])
    expect(quiet.stderr).toMatch(/^understudy: timed out after [^\n]*\n$/)
  })

  it('up shows the state and the time of each step on a terminal, and one line for each step elsewhere', async () => {
    await using home = new LabHome()
    const words = ['up', 'single', '--in-process', '--ports', 'random', '--name']
    const { stderr } = await home.passes(...words, 'plain')
    expect(stderr).toMatch(/^started 1 server$[\s\S]*^cluster A is unsealed at http:\S+$/m)
    const command = [process.execPath, ENTRY, ...words, 'live'].join(' ')
    const env = { PATH: process.env.PATH, XDG_STATE_HOME: home.directory, SHELL: '/bin/sh' }
    const terminal = spawn('script', ['-qec', command, '/dev/null'], { env, stdio: ['ignore', 'pipe', 'ignore'] })
    let shown = ''
    terminal.stdout.on('data', (chunk: Buffer) => {
      shown += chunk.toString()
    })
    expect(await new Promise((resolve) => terminal.once('close', resolve)), shown).toBe(0)
    expect(shown).toMatch(/✓ \d+\.\d s {2}started 1 server\r\n/)
    expect(shown).toMatch(/✓ \d+\.\d s {2}cluster A is unsealed at http:\S+\r\n/)
  })

  it('--verbose prints the calls without their queries', async () => {
    const server = http.createServer((_, response) => response.end('{}'))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const { status, stderr } = await runProgram(['healthcheck', '-v', '--addr', address])
    server.close()
    expect(status).toBe(0)
    expect(stderr).toMatch(new RegExp(`^GET ${address}/v1/sys/health: 200 after \\d+ ms\n$`))
  })
})
