import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findCompose } from '../../scripts/support/docker.js'
import { ApiClient } from '../../src/client/api-client.js'
import type { WiredClusters } from '../../src/lab/model/cluster.js'
import { randomPorts } from '../../src/lab/model/ports.js'
import { IMAGE } from './image.js'

/** The compose file of the repository, on free ports. */

const root = path.join(import.meta.dirname, '..', '..')
const project = `understudy-test-${process.pid}`
const clusters = ['A', 'B', 'C']

describe('the compose file of the repository', () => {
  const scratch = mkdtempSync(path.join(tmpdir(), 'understudy-compose-'))
  const env: NodeJS.ProcessEnv = { ...process.env, UNDERSTUDY_IMAGE: IMAGE }
  const addresses = new Map<string, string>()
  let wired: WiredClusters

  const call = (command: string, args: readonly string[]) => {
    const { status, stdout, stderr } = spawnSync(command, args, { cwd: root, env, encoding: 'utf8' })
    return { status, text: `${stdout}${stderr}`, stdout: stdout.trim() }
  }
  const compose = (...args: string[]) => {
    const [command, ...first] = findCompose() ?? ['docker-compose']
    return call(command, [...first, '-p', project, ...args])
  }
  const wireContainer = () => compose('ps', '-a', '-q', 'wire').stdout || compose('ps', '-q', 'wire').stdout

  beforeAll(async () => {
    for (const [name, { api }] of await randomPorts(clusters)) {
      env[`${name}_PORT`] = String(api)
      addresses.set(name, `http://127.0.0.1:${api}`)
    }
    const up = compose('up', '-d')
    expect(up.status, up.text).toBe(0)
  })

  afterAll(() => {
    compose('down', '--volumes', '--timeout', '20')
    rmSync(scratch, { recursive: true, force: true })
  })

  it('the compose file sets up replication, and its `wire` service exits with 0', () => {
    const { stdout } = call('docker', ['wait', wireContainer()])
    expect(stdout, compose('logs', '--no-color').text).toBe('0')
    const file = path.join(scratch, 'wired.json')
    expect(call('docker', ['cp', `${wireContainer()}:/vault/data/wired.json`, file]).text).not.toContain('Error')
    wired = JSON.parse(readFileSync(file, 'utf8')) as WiredClusters
    expect(wired.clusters.map(({ name }) => name)).toEqual(clusters)
  })

  it('the compose file replicates a write on A to C', async () => {
    const word = `from the compose test ${process.pid}`
    const tokenOf = (name: string) => wired.clusters.find((cluster) => cluster.name === name)?.rootToken
    const clientOf = (name: string) => new ApiClient({ address: addresses.get(name) ?? '', token: tokenOf(name) })
    await clientOf('A').write('rehearsal/compose', { word })
    await expect
      .poll(async () => (await clientOf('C').send('GET', 'rehearsal/compose')).json?.data, { timeout: 90_000 })
      .toEqual({ word })
  })

  it('the compose file gives each cluster its role', async () => {
    const health = async (name: string) =>
      (await new ApiClient({ address: addresses.get(name) ?? '' }).send('GET', 'sys/health')).status
    expect([await health('A'), await health('B'), await health('C')]).toEqual([200, 472, 200])
  })

  it('the compose file unseals the same clusters after a stop of all containers', () => {
    expect(compose('stop', '--timeout', '20').status).toBe(0)
    expect(compose('up', '-d').status).toBe(0)
    const { stdout } = call('docker', ['wait', wireContainer()])
    const { text } = compose('logs', '--no-color', 'wire')
    expect(stdout, text).toBe('0')
    expect(text).toContain('cluster B is unsealed')
  })

  it('the compose file runs its servers as an unprivileged user', () => {
    const { stdout } = compose('exec', '-T', 'a', 'cat', '/proc/1/status')
    expect(/^Uid:\s+(.*)$/m.exec(stdout)?.[1]?.split(/\s+/)).toEqual(['8200', '8200', '8200', '8200'])
  })

  it('the compose file drains its servers at a stop, and they exit with 0', () => {
    expect(compose('stop', '--timeout', '20').status).toBe(0)
    const ids = compose('ps', '-a', '-q').stdout || compose('ps', '-q').stdout
    const { stdout } = call('docker', ['inspect', '--format', '{{.State.ExitCode}}', ...ids.split('\n')])
    expect(stdout.split('\n')).toEqual(['0', '0', '0', '0'])
  })
})
