import { execFile } from 'node:child_process'
import { chmodSync, existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { Program, runProgram, STARTED, TestDirectory } from '../support/program.js'

describe('a misspelt command of ours', () => {
  it.each([
    ['staus', 'status'],
    ['vualt', 'vault'],
    ['sever', 'server'],
    ['docter', 'doctor'],
  ])('understudy %s gets a suggestion: %s', async (typed, meant) => {
    const { status, stdout, stderr } = await runProgram([typed])
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
    expect(stderr).toContain(`Did you mean ${meant}?`)
  })
})

describe('a server with address_file', () => {
  it('a server keeps its addresses in address_file for as long as it runs', async () => {
    using at = new TestDirectory()
    const file = at.path('addresses')
    const env = { UNDERSTUDY_ADDRESS_FILE: file }
    await using program = new Program(['server', '-dev', '-dev-listen-address=127.0.0.1:0'], { env })
    await program.untilPrinted(STARTED)
    await expect.poll(() => existsSync(file)).toBe(true)
    const address = readFileSync(file, 'utf8').trim()
    expect(address).toMatch(/^http:\/\/127\.0\.0\.1:[1-9]\d*$/)
    const { status, stdout } = await runProgram(['healthcheck'], { env })
    expect({ status, stdout }).toEqual({ status: 0, stdout: `${address} responds with 200\n` })
    program.signal('SIGTERM')
    expect(await program.end()).toBe(0)
    expect(existsSync(file)).toBe(false)
  })

  it('a server starts if it cannot write address_file, and logs the failure', async () => {
    using at = new TestDirectory()
    const env = { UNDERSTUDY_ADDRESS_FILE: path.join(at.write('no-directory', ''), 'addresses') }
    await using program = new Program(['server', '-dev', '-dev-listen-address=127.0.0.1:0'], { env })
    await program.untilPrinted('the addresses could not be written')
  })
})

describe('the command line asked for help', () => {
  it('the command line prints the commands and exits with 0 when it is called alone', async () => {
    const { status, stdout, stderr } = await runProgram([])
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(stdout).toContain('Usage: understudy')
  })

  it.each([
    [['server', '--help']],
    [['server', '-h']],
    [['server', '-help']],
    [['help', 'server']],
    [['vault', 'server', '-help']],
  ])('%j lists every flag of the server', async (args) => {
    const { status, stdout, stderr } = await runProgram(args)
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    for (const flag of ['-config=', '-dev ', '-dev-root-token-id=', '-data-dir=', '-log-level=', '-dev-tls-san=']) {
      expect(stdout).toContain(`\n  ${flag}`)
    }
  })

  it('the command line suggests the right name of a misspelt server flag', async () => {
    const { status, stderr } = await runProgram(['server', '-dev-tsl'])
    expect(status).toBe(1)
    expect(stderr).toContain('did you mean -dev-tls?')
  })

  it.each([[['help', 'staus']], [['staus', '--help']]])('the command line names the error in %j', async (args) => {
    const { status, stderr } = await runProgram(args)
    expect(status).toBe(1)
    expect(stderr).toContain('staus')
  })

  it('the command line reports no failure if its output is closed', async () => {
    const script = `"${process.execPath}" dist/main.js --help | head -n 1; "${process.execPath}" dist/main.js vault -help | head -n 1`
    const { stdout, stderr } = await promisify(execFile)('sh', ['-c', script])
    expect(stderr).toBe('')
    expect(stdout).toMatch(/^Usage: understudy.*\nUsage: vault.*\n$/)
  })
})

describe('UNDERSTUDY_LAB', () => {
  it.each([
    [['status'], 'mine', 'there is no lab "mine"'],
    [['status', '--name', 'other'], 'mine', 'there is no lab "other"'],
    [['web'], 'mine', 'there is no lab "mine"'],
    [['down'], 'mine', 'there is no lab "mine"'],
    [['status'], '', 'there is no lab "default"'],
    [['status'], 'no/lab', '"no/lab" is not a valid lab name'],
  ])('the command %j with UNDERSTUDY_LAB=%s reports: %s', async (args, lab, text) => {
    using at = new TestDirectory()
    const { stderr } = await runProgram(args, { env: { XDG_STATE_HOME: at.path('state'), UNDERSTUDY_LAB: lab } })
    expect(stderr).toContain(text)
  })
})

describe('understudy wire', () => {
  it('wire initializes nothing if one of the servers is not new, and names the next step', async () => {
    using at = new TestDirectory()
    const addresses = ['', '']
    const open = async (index: number, args: readonly string[]) => {
      const file = at.path(`addresses-${index}`)
      const program = new Program(['server', ...args], { env: { UNDERSTUDY_ADDRESS_FILE: file } })
      await program.untilPrinted(STARTED)
      await expect.poll(() => existsSync(file)).toBe(true)
      addresses[index] = readFileSync(file, 'utf8').trim()
      return program
    }
    const text = 'storage "inmem" {}\nlistener "tcp" {\n  address = "127.0.0.1:0"\n  tls_disable = true\n}\n'
    await using _a = await open(0, [`-config=${at.write('a.hcl', text)}`])
    await using _b = await open(1, ['-dev', '-dev-listen-address=127.0.0.1:0'])
    const wired = await runProgram(['wire', '--topology', 'dr', `A=${addresses[0]}`, `B=${addresses[1]}`])
    expect({ status: wired.status, stdout: wired.stdout }).toEqual({ status: 2, stdout: '' })
    expect(wired.stderr).toContain(`cluster B at ${addresses[1]} is already initialized`)
    expect(wired.stderr).toContain('--keep')
    const asked = await fetch(`${addresses[0]}/v1/sys/init`)
    expect(await asked.json()).toMatchObject({ initialized: false })
  })

  it('wire checks that the keys file can be written before it starts', async () => {
    const args = [
      'wire',
      '--topology',
      'dr',
      '--keep',
      '/nowhere/at/all/keys.json',
      'A=http://127.0.0.1:1',
      'B=http://127.0.0.1:2',
    ]
    const { status, stderr } = await runProgram(args)
    expect(status).toBe(1)
    expect(stderr).toContain('/nowhere/at/all/keys.json cannot be written')
  })
})

it('wire rejects a keys file without keys, and changes no server', async () => {
  using at = new TestDirectory()
  for (const text of ['{"clusters":', '[]', '']) {
    const keep = at.write('keys.json', text)
    const { status, stderr } = await runProgram([
      'wire',
      '--topology',
      'single',
      '--keep',
      keep,
      'A=http://127.0.0.1:1',
    ])
    expect([status, stderr], text).toEqual([1, expect.stringContaining(`${keep} has no keys of clusters`)])
  }
})

describe('understudy image', () => {
  it('image build rejects an invalid name of an image', async () => {
    const { status, stdout, stderr } = await runProgram(['image', 'build', '--tag', 'Lab:1.0'])
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
    expect(stderr).toBe(
      'understudy: "Lab:1.0" is not the name of an image: use lower case, such as registry.example/lab:1.0\n',
    )
  })

  it('image build fails without a Docker engine and names the fix', async () => {
    const { status, stderr } = await runProgram(['image', 'build'], { env: { PATH: '/nonexistent' } })
    expect(status).toBe(2)
    expect(stderr).toContain(
      'no Docker engine responds: the command "docker" was not found in PATH. Install and start Docker',
    )
  })

  it('image build names a base image that cannot be pulled, and suggests another base', async () => {
    using at = new TestDirectory()
    at.write('docker', '#!/bin/sh\n[ "$1" = version ] && exit 0\necho "is the daemon running?" >&2\nexit 1\n')
    chmodSync(at.path('docker'), 0o755)
    const env = { PATH: `${at.directory}:${process.env.PATH}` }
    const { status, stderr } = await runProgram(['image', 'build', '--base', 'no-such:1'], { env })
    expect(status).toBe(2)
    expect(stderr).toMatch(
      /cannot pull the base image no-such:1: .* running\? Check the name, or pass "--base machine"/,
    )
  })

  it('a drill on Docker fails without Docker Compose and names what to install', async () => {
    const { status, stderr } = await runProgram(['drill', 'run', 'dr-failover', '--on', 'docker'], {
      env: { PATH: '/nonexistent' },
    })
    expect(status).toBe(2)
    expect(stderr).toContain('Docker Compose was not found: install Docker and its plugin "docker compose"')
  })

  it('image context explains a directory that cannot be created', async () => {
    const { status, stderr } = await runProgram(['image', 'context', '/proc/x'])
    expect(status).toBe(1)
    expect(stderr).toContain('cannot create the directory /proc/x: ENOENT')
  })

  it('image context rejects a directory that is not empty', async () => {
    using at = new TestDirectory()
    at.write('file', '')
    const { status, stderr } = await runProgram(['image', 'context', at.directory])
    expect({ status, stderr }).toEqual({
      status: 5,
      stderr: `understudy: the directory ${at.directory} is not empty: specify a new or empty directory\n`,
    })
  })
})
