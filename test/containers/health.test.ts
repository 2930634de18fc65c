import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../src/base/clock.js'
import { createApiCertificates } from '../../src/crypto/certificates.js'
import { IMAGE } from './image.js'

/** The health check of the image: it finds the address of the server, and uses little processor time. */

const docker = (...args: string[]) => {
  const { status, stdout, stderr } = spawnSync('docker', args, { encoding: 'utf8' })
  return { status, stdout: stdout.trim(), text: `${stdout}${stderr}` }
}

const started: string[] = []
const directories: string[] = []

const start = (options: readonly string[], command: readonly string[]): string => {
  const { stdout: id, text } = docker('run', '--detach', ...options, IMAGE, ...command)
  expect(id, text).toMatch(/^[0-9a-f]{64}$/)
  started.push(id)
  return id
}

const healthOf = (id: string): string => docker('inspect', '--format', '{{.State.Health.Status}}', id).stdout
const untilHealthy = (id: string) => expect.poll(() => healthOf(id), { timeout: 240_000 }).toBe('healthy')

const configured = (listener: string, files: Readonly<Record<string, string>> = {}): string[] => {
  const directory = mkdtempSync(path.join(tmpdir(), 'understudy-health-'))
  directories.push(directory)
  const text = `storage "inmem" {}\nlistener "tcp" {\n${listener}\n}\n`
  for (const [name, content] of Object.entries({ 'server.hcl': text, ...files }))
    writeFileSync(path.join(directory, name), content, { mode: 0o644 })
  chmodSync(directory, 0o755)
  return ['--volume', `${directory}:/vault/config:ro`]
}

const withTls = async (more = ''): Promise<string[]> => {
  const { certificate, privateKey, ca } = await createApiCertificates(['localhost'], systemClock.now())
  const files = ['tls_cert_file', 'tls_key_file', 'tls_client_ca_file'].map(
    (key, index) => `${key} = "/vault/config/${['cert', 'key', 'ca'][index]}.pem"`,
  )
  return configured(`address = "[::]:8444"\n${files.join('\n')}\n${more}`, {
    'cert.pem': certificate,
    'key.pem': privateKey,
    'ca.pem': ca,
  })
}

afterAll(() => {
  if (started.length > 0) docker('rm', '--force', '--volumes', ...started)
  for (const directory of directories) rmSync(directory, { recursive: true, force: true })
})

describe('the image health check', () => {
  it('the health check finds a server on another port and address', async () => {
    await untilHealthy(start(configured('address = "127.0.0.2:9333"\ntls_disable = true'), ['server']))
  })

  it('the health check finds a server with TLS, even if client certificates are required', async () => {
    await untilHealthy(start(await withTls(), ['server']))
    await untilHealthy(start(await withTls('tls_require_and_verify_client_cert = true'), ['server']))
  })

  it('the health check finds a server started by a shell script as another user on a read-only disk', async () => {
    const script = 'vault server -dev -dev-listen-address=127.0.0.1:9555'
    await untilHealthy(start(['--user', '12345'], ['sh', '-c', `${script}; true`]))
    await untilHealthy(start(['--read-only', '--tmpfs', '/tmp'], ['server', '-dev']))
    await untilHealthy(start(['--read-only'], ['server', '-dev']))
  })

  it('the health check fails without a server', () => {
    const id = start(['--no-healthcheck'], ['sleep', '600'])
    expect(docker('exec', id, 'understudy-health').status).toBe(1)
  })

  it('the health check uses less than 1 % of a core', async () => {
    const usage = (id: string): number => {
      const read =
        'cat /sys/fs/cgroup/cpu.stat 2>/dev/null || echo usage_usec $(($(cat /sys/fs/cgroup/cpuacct/cpuacct.usage) / 1000))'
      const [, found] = /^usage_usec (\d+)/m.exec(docker('exec', id, 'sh', '-c', read).stdout) ?? []
      return Number(found)
    }
    const [checked, unchecked] = [start([], []), start(['--no-healthcheck'], [])] as const
    await untilHealthy(checked)
    const measured = async (ms: number) => {
      const before = [usage(checked), usage(unchecked)] as const
      await sleep(ms)
      return (usage(checked) - before[0] - (usage(unchecked) - before[1])) / 1000 / ms
    }
    const part = await measured(45_000)
    console.log(`the health check costs ${(100 * part).toFixed(2)} % of a core`)
    expect(part).toBeLessThan(0.01)
    expect(healthOf(checked)).toBe('healthy')
  })
})
