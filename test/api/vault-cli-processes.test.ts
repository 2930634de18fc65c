/** The command line as a program: by its name, through pipes, over TLS. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { randomPorts } from '../../src/lab/model/ports.js'
import { TestCertificate } from '../support/client-certificates.js'
import { until } from '../support/until.js'

const MAIN = path.join(import.meta.dirname, '..', '..', 'dist', 'main.js')
const STARTED = '==> Vault server started!'

let directory: string
let vault: string
let server: ChildProcess
let env: Record<string, string>

interface Ended {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

const launch = (script: string, args: readonly string[]): ChildProcess =>
  spawn(process.execPath, [script, ...args], { env: { PATH: process.env.PATH, ...env }, cwd: directory })

const run = async (script: string, args: readonly string[], stdin = ''): Promise<Ended> => {
  const child = launch(script, args)
  const texts = { stdout: '', stderr: '' }
  child.stdout?.on('data', (chunk: Buffer) => (texts.stdout += chunk.toString('utf8')))
  child.stderr?.on('data', (chunk: Buffer) => (texts.stderr += chunk.toString('utf8')))
  child.stdin?.end(stdin)
  const [status] = (await once(child, 'close')) as [number | null]
  return { status, ...texts }
}

beforeAll(async () => {
  directory = mkdtempSync(path.join(tmpdir(), 'understudy-vault-'))
  vault = path.join(directory, 'vault')
  symlinkSync(MAIN, vault)
  const port = (await randomPorts(['A'])).get('A')?.api
  env = {
    HOME: directory,
    VAULT_ADDR: `https://127.0.0.1:${port}`,
    VAULT_TOKEN: 'root',
    VAULT_CACERT: path.join(directory, 'tls', 'vault-ca.pem'),
  }
  const flags = [
    '-dev-tls',
    '-dev-tls-cert-dir=tls',
    '-dev-root-token-id=root',
    `-dev-listen-address=127.0.0.1:${port}`,
  ]
  server = launch(vault, ['server', '-dev', ...flags])
  let printed = ''
  server.stdout?.on('data', (chunk: Buffer) => (printed += chunk.toString('utf8')))
  server.stderr?.on('data', (chunk: Buffer) => (printed += chunk.toString('utf8')))
  await until(() => {
    if (server.exitCode !== null) throw new Error(`the server did not start:\n${printed}`)
    return printed.includes(STARTED)
  })
})

afterAll(async () => {
  if (server.exitCode === null) {
    server.kill('SIGTERM')
    await once(server, 'close')
  }
  rmSync(directory, { recursive: true, force: true })
})

describe('the program called vault', () => {
  it('the vault command prints its version', async () => {
    const { status, stdout } = await run(vault, ['version'])
    expect(status).toBe(0)
    expect(stdout.split(' ').slice(0, 2)).toEqual(['Vault', 'v1.20.4+ent'])
    expect((await run(MAIN, ['version'])).stdout).toMatch(/^Understudy /)
  })

  it('the vault command behaves like "understudy vault"', async () => {
    const [one, other] = await Promise.all([run(vault, ['status']), run(MAIN, ['vault', 'status'])])
    expect(one).toMatchObject({ status: 0, stderr: '' })
    expect(other).toMatchObject({ status: 0, stderr: '' })
    expect(one.stdout).toMatch(/^Key +Value\n--- +-----\nSeal Type +shamir\n/)
  })

  it('the vault command reads policies and secrets from a pipe', async () => {
    const policy = 'path "secret/*" {\n  capabilities = ["read"]\n}\n'
    expect((await run(vault, ['policy', 'write', 'p', '-'], policy)).stdout).toBe('Success! Uploaded policy: p\n')
    expect((await run(vault, ['kv', 'put', 'secret/a', 'word=-'], 'from the pipe')).status).toBe(0)
    const got = await run(vault, ['kv', 'get', '-field=word', 'secret/a'])
    expect(got).toEqual({ status: 0, stdout: 'from the pipe', stderr: '' })
  })

  it('the vault command reads answers to its prompts from a pipe', async () => {
    const { status, stdout, stderr } = await run(vault, ['login', '-field=token'], 'root\n')
    expect({ status, stdout }).toEqual({ status: 0, stdout: 'root' })
    expect(stderr).toContain('Token (will be hidden): ')
    expect(readFileSync(path.join(directory, '.vault-token'), 'utf8')).toBe('root')
    const nobody = await run(vault, ['operator', 'unseal'], '')
    expect(nobody.status).toBe(1)
    expect(nobody.stderr).toContain('The input ended before an answer was entered\n')
  })

  it('the vault command logs in with a client certificate', async () => {
    const client = await (await TestCertificate.authority('root')).issue({ commonName: 'robot' })
    const [certificate, key] = [path.join(directory, 'client.pem'), path.join(directory, 'client.key')]
    writeFileSync(certificate, client.pem)
    writeFileSync(key, client.privateKey)
    await run(vault, ['auth', 'enable', '-path=robots', 'cert'])
    await run(vault, ['write', 'auth/robots/certs/web', `certificate=@${certificate}`])
    const login = ['login', '-method=cert', '-path=robots', '-no-store', '-format=json', `-client-cert=${certificate}`]
    const { status, stdout } = await run(vault, [...login, `-client-key=${key}`, 'name=web'])
    expect(status).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ auth: { metadata: { cert_name: 'web', common_name: 'robot' } } })
    const other = await run(vault, [...login, `-client-key=${key}`, 'name=other'])
    expect(other.stderr).toContain('invalid certificate or no client certificate supplied')
  })

  it('the vault command tells failures apart by its exit status', async () => {
    expect((await run(vault, ['read'])).status).toBe(1)
    expect((await run(vault, ['read', 'cubbyhole/none'])).status).toBe(2)
    expect((await run(vault, ['bogus'])).status).toBe(1)
    expect((await run(vault, ['agent'])).stderr).toContain('use the agent of Vault')
    expect((await run(vault, ['pki', 'list-intermediates'])).stderr).toContain('Use the API paths')
  })

  it('the vault command verifies certificates', async () => {
    const empty = path.join(directory, 'empty.pem')
    writeFileSync(empty, '')
    const untrusted = await run(vault, ['status', `-ca-cert=${empty}`])
    expect(untrusted.status).toBe(1)
    expect(untrusted.stderr).toContain('tls: failed to verify certificate: x509: ')
    expect((await run(vault, ['status', `-ca-cert=${empty}`, '-tls-skip-verify'])).status).toBe(0)
    const { VAULT_CACERT: ca = '', ...others } = env
    env = others
    expect((await run(vault, ['status'])).stderr).toContain('tls: failed to verify certificate: x509: ')
    env = { ...others, SSL_CERT_FILE: ca }
    expect((await run(vault, ['status'])).status, 'an authority of the system').toBe(0)
    env = { ...others, VAULT_CACERT: ca }
    const plain = await run(vault, ['status', `-address=${env.VAULT_ADDR?.replace('https', 'http')}`])
    expect(plain.status).toBe(1)
  })
})
