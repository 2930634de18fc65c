import { spawnSync } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ApiClient } from '../../src/client/api-client.js'
import { until } from '../support/until.js'
import { IMAGE } from './image.js'

/** A complete lab in one container: `docker run IMAGE up pr-dr`. */

const docker = (...args: string[]) => {
  const { status, stdout, stderr } = spawnSync('docker', args, { encoding: 'utf8' })
  return { status, stdout: stdout.trim(), text: `${stdout}${stderr}` }
}

describe('a lab in a container', () => {
  let id = ''
  const inside = (...args: string[]) => docker('exec', '--user', 'vault', id, 'understudy', ...args)
  const log = () => docker('logs', id).text
  const healthOf = async (port: number) => {
    const address = `http://${docker('port', id, `${port}/tcp`).stdout.split('\n')[0]}`
    const client = new ApiClient({ address })
    try {
      return (await client.send('GET', 'sys/health')).status
    } finally {
      client.close()
    }
  }

  beforeAll(async () => {
    const ports = [8200, 8210, 8220].flatMap((port) => ['--publish', `127.0.0.1::${port}`])
    const started = docker('run', '--detach', ...ports, IMAGE, 'up', 'pr-dr')
    expect(started.status, started.text).toBe(0)
    id = started.stdout
    await until(
      () => log().includes('Ctrl-C stops it') || docker('inspect', '-f', '{{.State.Running}}', id).stdout !== 'true',
    )
    expect(log()).toContain('Ctrl-C stops it')
  })

  afterAll(() => {
    docker('rm', '--force', '--volumes', id)
  })

  it('a lab in a container prints its addresses and responds at the published ports', async () => {
    expect(log()).toContain('http://127.0.0.1:8210')
    expect([await healthOf(8200), await healthOf(8210), await healthOf(8220)]).toEqual([200, 472, 200])
  })

  it('a lab in a container accepts commands from inside', () => {
    for (const args of [
      ['crash', 'A'],
      ['failover', 'A', 'B', '--force'],
      ['start', 'A'],
      ['rejoin', 'A', 'B'],
    ]) {
      const { status, text } = inside(...args)
      expect(status, text).toBe(0)
    }
    expect(inside('wait', '--for', 'converged').status).toBe(0)
  })

  it('a lab in a container is removed when the container stops', () => {
    expect(docker('stop', '--time', '60', id).status).toBe(0)
    expect(docker('inspect', '-f', '{{.State.ExitCode}}', id).stdout, log()).toBe('143')
    expect(log()).toContain('the lab "default" was removed')
  })
})
