import { spawn, spawnSync } from 'node:child_process'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findCompose } from '../../scripts/support/docker.js'
import { IMAGE } from './image.js'

/**
 * A lab written for the official Vault image: HCL files, a compose file, and a shell script of `vault` commands. Only
 * the image name differs. The script runs from the first start through a failover to the failback.
 */

const directory = path.join(import.meta.dirname, 'reference-lab')
const lab = `reference-lab-${process.pid}`
const env: NodeJS.ProcessEnv = { ...process.env, VAULT_IMAGE: IMAGE, LAB: lab }

const compose = (...args: string[]) => {
  const [command, ...first] = findCompose() ?? ['docker-compose']
  const { status, stdout, stderr } = spawnSync(command, [...first, '-p', lab, ...args], {
    cwd: directory,
    env,
    encoding: 'utf8',
  })
  return { status, text: `${stdout}${stderr}` }
}

interface ScriptResult {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

const runScript = (): Promise<ScriptResult> =>
  new Promise((resolve, reject) => {
    const child = spawn('sh', ['lab.sh'], { cwd: directory, env, stdio: ['ignore', 'pipe', 'pipe'] })
    let stdout = ''
    let stderr = ''
    child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()))
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
    child.once('error', reject)
    child.once('close', (status) => resolve({ status, stdout, stderr }))
  })

describe('a lab of vault commands', () => {
  const seen = new Map<string, string>()

  beforeAll(() => {
    const up = compose('up', '-d')
    expect(up.status, up.text).toBe(0)
  })

  afterAll(() => {
    compose('down', '--volumes', '--timeout', '20')
  })

  it('the script of vault commands runs to its end', async () => {
    const { status, stdout, stderr } = await runScript()
    expect(status, status === 0 ? '' : `${stdout}\n${stderr}\n${compose('logs', '--no-color').text}`).toBe(0)
    for (const line of stdout.trim().split('\n')) {
      const at = line.indexOf('=')
      seen.set(line.slice(0, at), line.slice(at + 1))
    }
  })

  it.each([
    ['status_new', '2'],
    ['status_sealed', '2'],
    ['status_open', '0'],
    ['status_dr_secondary', '0'],
    ['status_dr_sealed', '2'],
    ['status_unreachable', '1'],
    ['status_promoted', '0'],
    ['status_demoted', '0'],
    ['status_sealed_again', '2'],
    ['init_status_new', '2'],
    ['init_status_done', '0'],
  ])('vault commands report the state by exit status: %s is %s', (name, status) => expect(seen.get(name)).toBe(status))

  it.each([
    ['read_after_failover', 'before the failover'],
    ['read_after_failback', 'before the failover'],
    ['read_meanwhile', 'while A was away'],
  ])('data is kept across failover and failback: %s is "%s"', (name, text) => expect(seen.get(name)).toBe(text))

  it.each([
    ['snapshot', '0'],
    ['mode_joined_by_key', 'secondary'],
    ['read_on_dr', '2'],
    ['promote_wrong_token', '2'],
    ['login_after_failover', '0'],
  ])('vault commands answer during the failover: %s is %s', (name, text) => expect(seen.get(name)).toBe(text))

  it('the clusters have their original roles after the failback', () => {
    const statusOf = (name: string) => (JSON.parse(seen.get(name) ?? '{}') as { data: Record<string, unknown> }).data
    const primary = statusOf('primary')
    const secondary = statusOf('secondary')
    expect(primary).toMatchObject({ mode: 'primary', state: 'running', known_secondaries: ['b-again'] })
    expect(secondary).toMatchObject({
      mode: 'secondary',
      state: 'stream-wals',
      connection_state: 'ready',
      secondary_id: 'b-again',
      known_primary_cluster_addrs: ['https://a:8201'],
      cluster_id: primary.cluster_id,
      merkle_root: primary.merkle_root,
    })
  })
})
