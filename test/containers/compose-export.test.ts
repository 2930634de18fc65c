import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findCompose } from '../../scripts/support/docker.js'
import { randomPorts } from '../../src/lab/ports.js'
import { LabHome } from '../support/lab-home.js'
import { IMAGE } from './image.js'

/** An exported compose file, started as a user starts it, worked on as a lab, and started again. */

const directory = mkdtempSync(path.join(tmpdir(), 'understudy-export-'))
const env: NodeJS.ProcessEnv = { ...process.env }
const home = new LabHome()

const call = (command: string, args: readonly string[]) => {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: directory, env, encoding: 'utf8' })
  return { status, text: `${stdout}${stderr}`, stdout: stdout.trim() }
}
const compose = (...args: string[]) => {
  const [command, ...first] = findCompose() ?? ['docker-compose']
  return call(command, [...first, ...args])
}
const wired = () => {
  const id = compose('ps', '-a', '-q', 'wire').stdout || compose('ps', '-q', 'wire').stdout
  return call('docker', ['wait', id]).stdout
}
const on = (...args: string[]) => home.run(...args, '--name', 'boxes')
const vault = (cluster: string, ...args: string[]) =>
  home.run('exec', cluster, '--name', 'boxes', '--', process.execPath, 'dist/main.js', 'vault', ...args)

describe('an exported compose file', () => {
  beforeAll(async () => {
    for (const [name, { api }] of await randomPorts(['A', 'B', 'C'])) env[`${name}_PORT`] = String(api)
    const exported = await home.run('compose', 'export', 'pr-dr', '--output', directory, '--image', IMAGE)
    expect(exported.status, exported.stderr).toBe(0)
  })

  afterAll(async () => {
    compose('down', '--volumes', '--timeout', '20')
    rmSync(directory, { recursive: true, force: true })
    await home[Symbol.asyncDispose]()
  })

  it('comes up replicated by itself', () => {
    const up = compose('up', '-d')
    expect(up.status, up.text).toBe(0)
    expect(wired(), compose('logs', '--no-color', 'wire').text).toBe('0')
    const log = compose('logs', '--no-color', 'wire').text
    expect(log).toContain('keys and tokens are in /vault/data/wired.json')
    expect(log).not.toMatch(/\bhvs\.|\b[0-9a-f]{64}\b/)
    const { status, text } = compose('run', '--rm', 'status')
    expect(status, text).toBe(0)
  })

  it('is a lab, where a failover is rehearsed', async () => {
    const attached = await home.run('attach', 'boxes', '--compose', directory)
    expect(attached.status, attached.stderr).toBe(0)
    expect((await on('wait', '--for', 'healthy')).status).toBe(0)
    expect((await vault('A', 'secrets', 'enable', '-path=kv', 'kv')).status).toBe(0)
    expect((await vault('A', 'write', 'kv/a', 'word=kept')).status).toBe(0)
    expect((await on('wait', '--for', 'converged')).status).toBe(0)

    expect((await on('crash', 'A')).status).toBe(0)
    expect(await on('crash', 'A')).toMatchObject({ status: 5, stderr: expect.stringContaining('A is not running') })
    expect((await on('status')).stderr).toContain('A is stopped')
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

  it('unseals everything when it is started again, and leaves the roles as they are', async () => {
    expect(compose('stop', '--timeout', '20').status).toBe(0)
    expect(compose('up', '-d').status).toBe(0)
    const status = wired()
    const log = compose('logs', '--no-color', 'wire').text
    expect(status, log).toBe('0')
    expect(log).toContain('B is no dr secondary of A any more')
    expect((await on('env', '--role', 'dr-primary')).stdout).toContain(`:${env.B_PORT}`)
    expect((await vault('B', 'read', '-field=word', 'kv/a')).stdout.trim()).toBe('kept')
  })

  it('is left alone when the lab is forgotten', async () => {
    expect((await home.run('down', 'boxes')).stderr).toContain('is forgotten')
    const running = call('docker', [
      'ps',
      '-q',
      '--filter',
      `label=com.docker.compose.project.working_dir=${directory}`,
    ])
    expect(running.stdout.split('\n')).toHaveLength(3)
  })
})
