import { spawnSync } from 'node:child_process'
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { IMAGE } from './image.js'

/** The entrypoint of the image: arguments, volumes and users. */

const docker = (...args: string[]) => {
  const { status, stdout, stderr } = spawnSync('docker', args, { encoding: 'utf8' })
  return { status, stdout: stdout.trim(), text: `${stdout}${stderr}` }
}

describe('the image entrypoint', () => {
  const started: string[] = []
  const directories: string[] = []

  /** Starts a container, waits until it is healthy, and returns its ID. */
  const startHealthy = async (options: readonly string[], command: readonly string[]): Promise<string> => {
    const { stdout: id, text } = docker('run', '--detach', ...options, IMAGE, ...command)
    expect(id, text).toMatch(/^[0-9a-f]{64}$/)
    started.push(id)
    const health = () => docker('inspect', '--format', '{{.State.Health.Status}}', id).stdout
    await expect.poll(health, { timeout: 240_000 }).not.toBe('starting')
    expect(health(), docker('logs', id).text).toBe('healthy')
    return id
  }

  /** Creates a directory that all users can read, like directories of compose projects. */
  const scratch = (): string => {
    const directory = mkdtempSync(path.join(tmpdir(), 'understudy-volume-'))
    chmodSync(directory, 0o755)
    directories.push(directory)
    return directory
  }

  afterAll(() => {
    if (started.length > 0) docker('rm', '--force', '--volumes', ...started)
    // The files belong to the user of the container, so a container deletes them.
    for (const directory of directories) {
      docker('run', '--rm', '--volume', `${directory}:/gone`, '--entrypoint', 'sh', IMAGE, '-c', 'rm -rf /gone/*')
      rmSync(directory, { recursive: true, force: true })
    }
  })

  it('the entrypoint starts a development server by default', async () => {
    const id = await startHealthy(['--env', 'VAULT_DEV_ROOT_TOKEN_ID=known'], [])
    expect(docker('logs', id).stdout).toContain('Root Token: known')
  })

  it('the entrypoint reads a configuration directory of another user, and the health check uses its address', async () => {
    const directory = scratch()
    const file = path.join(directory, 'server.hcl')
    const text =
      'storage "file" { path = "/elsewhere/data" }\nlistener "tcp" {\n address = "0.0.0.0:8333"\n tls_disable = 1\n}\n'
    writeFileSync(file, text, { mode: 0o600 })
    if (process.getuid?.() === 0) chownSync(file, 12_345, 12_345)
    const id = await startHealthy(['--volume', `${directory}:/vault/config`], ['server'])
    const { stdout } = docker('exec', id, 'understudy', 'healthcheck')
    expect(stdout).toBe('http://127.0.0.1:8333 responds with 501')
  })

  it('the entrypoint reads a configuration file once if the caller names it', async () => {
    const directory = scratch()
    const text = '{"storage":{"inmem":{}},"listener":{"tcp":{"address":"0.0.0.0:8200","tls_disable":true}}}'
    writeFileSync(path.join(directory, 'config.json'), text, { mode: 0o644 })
    const command = ['server', '-config=/vault/config/config.json']
    await startHealthy(['--volume', `${directory}:/vault/config:ro`], command)
    await startHealthy(['--volume', `${directory}:/vault/config:ro`, '--entrypoint', 'vault'], command)
  })

  it('the entrypoint runs as an arbitrary user', async () => {
    const id = await startHealthy(['--user', '12345:12345', '--cap-drop', 'ALL'], [])
    expect(docker('exec', id, 'id', '-u').stdout).toBe('12345')
  })

  it.each([
    [['version'], 0, /^Understudy \d|^Vault v\d/],
    [['-version'], 0, /^Understudy \d|^Vault v\d/],
    [['sh', '-c', 'echo from a shell; exit 7'], 7, /^from a shell$/],
    [['no-such-program'], 127, /no-such-program: command not found/],
    [['server', '-no-such-flag'], 1, /flag provided but not defined/],
  ])('the image run as %j exits with %i', (args, status, output) => {
    const result = docker('run', '--rm', IMAGE, ...args)
    expect(result.status, result.text).toBe(status)
    expect(result.text.trim()).toMatch(output)
  })
})
