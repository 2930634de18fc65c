import { once } from 'node:events'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { rootCertificates } from 'node:tls'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { LIMITS } from '../../../src/base/limits.js'
import { systemClock } from '../../../src/base/clock.js'
import { systemNetwork } from '../../../src/base/network.js'
import { readSystemRoots } from '../../../src/base/system-roots.js'
import { ApiClient } from '../../../src/client/api-client.js'
import { createAuthority } from '../../../src/crypto/certificates.js'
import { certificatePem } from '../../../src/crypto/pem.js'
import { apiUrl, callApi } from '../../../src/server/wiring/api-call.js'
import { openTlsFront, type TlsFront } from '../../support/tls-front.js'

const directory = mkdtempSync(path.join(tmpdir(), 'understudy-roots-'))
const server = createServer((_, answer) => answer.end('{}'))
const file = (name: string, text: string): string => {
  writeFileSync(path.join(directory, name), text)
  return path.join(directory, name)
}
const variables = ['SSL_CERT_FILE', 'SSL_CERT_DIR', 'NODE_EXTRA_CA_CERTS'] as const
const before = variables.map((name) => [name, process.env[name]] as const)
let front: TlsFront
let pems: string[]

beforeAll(async () => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  front = await openTlsFront((server.address() as AddressInfo).port)
  const made = ['one', 'two', 'three'].map((name) => createAuthority({ name, nowMs: systemClock.now() }))
  pems = (await Promise.all(made)).map(({ certificate }) => certificatePem(certificate))
})
afterAll(async () => {
  for (const [name, value] of before)
    if (value === undefined) delete process.env[name]
    else process.env[name] = value
  await front.close()
  server.close()
  rmSync(directory, { recursive: true, force: true })
})

const added = (env: Parameters<typeof readSystemRoots>[0]): string[] =>
  readSystemRoots(env).filter((pem) => !rootCertificates.includes(pem))

test('SSL_CERT_FILE and SSL_CERT_DIR replace the system CAs, which are added to those of Node without duplicates', () => {
  const [one = '', two = '', three = ''] = pems
  const bundle = file('bundle.pem', `# a comment\n${one}${rootCertificates[0]}\n${two.replace(/\n/g, '\r\n')}`)
  const empty = mkdtempSync(path.join(directory, 'empty-'))
  expect(readSystemRoots({ SSL_CERT_FILE: bundle, SSL_CERT_DIR: empty })).toHaveLength(rootCertificates.length + 2)
  expect(added({ SSL_CERT_FILE: bundle, SSL_CERT_DIR: empty })[0]).toBe(one.trim())

  const many = mkdtempSync(path.join(directory, 'many-'))
  writeFileSync(path.join(many, 'three.pem'), three)
  symlinkSync('three.pem', path.join(many, '0a1b2c3d.0'))
  symlinkSync(bundle, path.join(many, '0a1b2c3e.0'))
  const SSL_CERT_DIR = `${path.join(directory, 'none')}:${many}`
  expect(added({ SSL_CERT_FILE: bundle, SSL_CERT_DIR })).toHaveLength(3)
  const NODE_EXTRA_CA_CERTS = file('extra.pem', three)
  expect(added({ SSL_CERT_FILE: bundle, SSL_CERT_DIR: empty, NODE_EXTRA_CA_CERTS })).toHaveLength(3)
})

test('unreadable certificates are skipped', () => {
  const broken = '-----BEGIN CERTIFICATE-----\nbm8gY2VydGlmaWNhdGU=\n-----END CERTIFICATE-----\n'
  const SSL_CERT_FILE = file('broken.pem', `${broken}${pems[0]}`)
  expect(added({ SSL_CERT_FILE, SSL_CERT_DIR: `${directory}x` })).toHaveLength(1)
  expect(readSystemRoots({ SSL_CERT_FILE: directory, SSL_CERT_DIR: SSL_CERT_FILE })).toEqual(rootCertificates)
})

test('a CA variable that names a device, a pipe or a large file is an error that names the variable', () => {
  const pipe = path.join(directory, 'pipe')
  spawnSync('mkfifo', [pipe])
  const large = file('large', '')
  truncateSync(large, LIMITS.namedFileBytesMax + 1)
  for (const name of ['SSL_CERT_FILE', 'NODE_EXTRA_CA_CERTS'] as const) {
    for (const unfit of ['/dev/zero', pipe])
      expect(() => readSystemRoots({ [name]: unfit })).toThrow(`${name}: ${unfit} is not a regular file`)
    expect(() => readSystemRoots({ [name]: large })).toThrow(`${name}: ${large} is too large`)
  }
})

test('a CA directory is read without pipes, devices, links to them and large files', () => {
  const mixed = mkdtempSync(path.join(directory, 'mixed-'))
  symlinkSync('/dev/zero', path.join(mixed, 'zero.pem'))
  symlinkSync('/dev/stdin', path.join(mixed, 'stdin.pem'))
  spawnSync('mkfifo', [path.join(mixed, 'pipe.pem')])
  symlinkSync(path.join(mixed, 'pipe.pem'), path.join(mixed, 'link.pem'))
  writeFileSync(path.join(mixed, 'large.pem'), pems[1] ?? '')
  truncateSync(path.join(mixed, 'large.pem'), LIMITS.namedFileBytesMax + 1)
  writeFileSync(path.join(mixed, 'one.pem'), pems[0] ?? '')
  const SSL_CERT_FILE = path.join(directory, 'none')
  expect(added({ SSL_CERT_FILE, SSL_CERT_DIR: `${mixed}:/dev:/dev/fd:/proc/self:/dev/zero` })).toHaveLength(1)
})

test('a bundle of a megabyte of unterminated certificates is read in linear time', () => {
  const beginning = '-----BEGIN CERTIFICATE-----\n'
  const SSL_CERT_FILE = file('begun.pem', `${beginning.repeat(37_000)}${pems[0]}`)
  expect(added({ SSL_CERT_FILE, SSL_CERT_DIR: `${directory}x` })).toHaveLength(1)
})

test('a client reports a CA variable that names a device as the cause of its failure', async () => {
  process.env.SSL_CERT_FILE = '/dev/zero'
  const client = new ApiClient({ address: front.address })
  await expect(client.send('GET', 'sys/health')).rejects.toThrow('SSL_CERT_FILE: /dev/zero is not a regular file')
  client.close()
})

const CALLS: readonly (readonly [string, (caPem?: string) => Promise<{ readonly status: number }>])[] = [
  [
    'a client of the API',
    async (caPem) => {
      const client = new ApiClient({ address: front.address, caPem })
      return client.send('GET', 'sys/health').finally(() => client.close())
    },
  ],
  [
    'a server that asks another one',
    (caPem) => {
      const tls = { caPems: caPem ? [caPem] : [], clientCertPem: '', clientKeyPem: '' }
      const url = apiUrl(front.address, 'sys/health')
      return callApi({ url, method: 'GET', token: '', tls, authorityHint: '' }, systemNetwork)
    },
  ],
]

test.each(CALLS)('%s trusts the system CAs unless another CA is given', async (_, call) => {
  process.env.SSL_CERT_FILE = file('unknown.pem', pems[0] ?? '')
  await expect(call()).rejects.toThrow(/certificate/)
  process.env.SSL_CERT_FILE = file('known.pem', front.caPem)
  expect((await call()).status).toBe(200)
  await expect(call(pems[0])).rejects.toThrow(/certificate/)
})
