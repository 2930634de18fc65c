import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls'
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../src/base/clock.js'
import { ApiClient } from '../../src/client/api-client.js'
import { type ApiCertificates, createApiCertificates } from '../../src/crypto/certificates.js'
import { waitFor } from '../../src/lab/requests/wait.js'
import { freePorts } from '../support/local-config.js'
import { disposeAfterTest, Program, runProgram, STARTED, TestDirectory } from '../support/program.js'
import { until } from '../support/until.js'

/** TLS listeners of real servers: files, clients, versions, and new certificates without a restart. */
const makeCertificates = (...hosts: string[]): Promise<ApiCertificates> =>
  createApiCertificates(hosts.length > 0 ? hosts : ['localhost', '127.0.0.1'], systemClock.now())

const site = async (more = '') => {
  const at = disposeAfterTest(new TestDirectory())
  const { api, cluster } = await freePorts()
  const made = await makeCertificates()
  const writeFiles = ({ certificate, privateKey }: ApiCertificates) => {
    at.write('cert.pem', certificate)
    at.write('key.pem', privateKey)
  }
  writeFiles(made)
  const config = at.write(
    'server.hcl',
    `listener "tcp" {
  address = "127.0.0.1:${api}"
  cluster_address = "127.0.0.1:${cluster}"
  tls_cert_file = "cert.pem"
  tls_key_file = "key.pem"
  ${more}
}
storage "inmem" {}
`,
  )
  const start = async () => {
    const program = disposeAfterTest(new Program(['server', `-config=${config}`], { cwd: at.directory }))
    await program.untilPrinted(STARTED)
    return program
  }
  return { at, api, config, made, writeFiles, start, address: `https://127.0.0.1:${api}` }
}

const handshake = (port: number, options: ConnectionOptions): Promise<TLSSocket> =>
  new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', ...options }, () => resolve(socket))
    socket.once('error', reject)
  })

/** Sends a request on an open connection. Resolves to the status line; empty if the connection was closed. */
const ask = (socket: TLSSocket): Promise<string> =>
  new Promise((resolve) => {
    socket.once('data', (chunk: Buffer) => resolve(String(chunk).split('\r\n')[0] ?? ''))
    socket.once('close', () => resolve(''))
    socket.once('error', () => resolve(''))
    socket.write('GET /v1/sys/init HTTP/1.1\r\nHost: a\r\n\r\n')
  })

describe('-dev-tls', () => {
  it('-dev-tls creates a CA and a certificate, prints their paths, and serves HTTPS', async () => {
    const at = disposeAfterTest(new TestDirectory())
    const { api } = await freePorts()
    const directory = at.path('made/here')
    const flags = [
      '-dev-tls',
      `-dev-tls-cert-dir=${directory}`,
      '-dev-tls-san=vault.test',
      `-dev-listen-address=127.0.0.1:${api}`,
      '-dev-root-token-id=root',
    ]
    const program = disposeAfterTest(new Program(['server', ...flags]))
    await program.untilPrinted(STARTED)
    const ca = path.join(directory, 'vault-ca.pem')
    expect(program.stdout).toContain(`export VAULT_ADDR='https://127.0.0.1:${api}'`)
    expect(program.stdout).toContain(`export VAULT_CACERT='${ca}'`)
    for (const name of ['vault-cert.pem', 'vault-key.pem']) expect(program.stdout).toContain(path.join(directory, name))
    const caPem = readFileSync(ca, 'utf8')
    const client = new ApiClient({ address: `https://127.0.0.1:${api}`, caPem, token: 'root' })
    expect(await client.read('sys/health')).toMatchObject({ initialized: true, sealed: false })
    const byName = new ApiClient({ address: `https://127.0.0.1:${api}`, caPem, serverName: 'vault.test' })
    expect(await byName.read('sys/init')).toEqual({ initialized: true })
    const stranger = new ApiClient({ address: `https://127.0.0.1:${api}`, caPem, serverName: 'other.test' })
    await expect(stranger.read('sys/init')).rejects.toThrow(/altnames/)
    await expect(new ApiClient({ address: client.address }).read('sys/init')).rejects.toThrow()
    program.signal('SIGTERM')
    expect(await program.exit).toBe(0)
    expect(existsSync(ca), 'files of a chosen directory stay').toBe(true)
  })

  it('-dev-three-node serves one cluster at three addresses, and stops all nodes together', async () => {
    const { api } = await freePorts()
    const flags = ['-dev-three-node', `-dev-listen-address=127.0.0.1:${api}`, '-dev-root-token-id=root']
    const program = disposeAfterTest(new Program(['server', ...flags]))
    await program.untilPrinted(STARTED)
    const addresses = [0, 1, 2].map((at) => `https://127.0.0.1:${api + at}`)
    for (const [at, address] of addresses.entries())
      expect(program.stdout).toContain(`Node ${at} API Address: ${address}`)
    expect(program.stdout).toMatch(/^Unseal Key: [A-Za-z0-9+/]{43}=$/m)
    expect(program.stdout).toMatch(/^Root Token: root$/m)
    const ca = /VAULT_CACERT='([^']+)'/.exec(program.stdout)?.[1] ?? ''
    const caPem = readFileSync(ca, 'utf8')
    const [first, second, third] = addresses.map((address) => new ApiClient({ address, caPem, token: 'root' }))
    const health = [first, second, third].map(async (client) => (await client?.send('GET', 'sys/health'))?.status)
    expect(await Promise.all(health)).toEqual([200, 473, 473])
    await second?.call('POST', 'secret/data/it', { body: { data: { word: 'shared' } } })
    await until(async () => (await third?.send('GET', 'secret/data/it'))?.status === 200)
    expect(await third?.read('secret/data/it')).toMatchObject({ data: { data: { word: 'shared' } } })
    expect(await third?.read('sys/seal-status')).toMatchObject({ storage_type: 'inmem_ha', t: 1, n: 1 })
    const { nodes } = Object((await first?.read('sys/ha-status'))?.data) as { nodes: { api_address: string }[] }
    expect(nodes.map(({ api_address }) => api_address)).toEqual(addresses)
    program.signal('SIGINT')
    expect(await program.exit).toBe(0)
    expect(existsSync(ca)).toBe(false)
    for (const client of [first, second, third]) await expect(client?.read('sys/health')).rejects.toThrow()
  })

  it('-dev-three-node starts no node if the address of one is taken', async () => {
    const { api } = await freePorts()
    const taken = disposeAfterTest(new Program(['server', '-dev', `-dev-listen-address=127.0.0.1:${api + 1}`]))
    await taken.untilPrinted(STARTED)
    const program = disposeAfterTest(new Program(['server', '-dev-three-node', `-dev-listen-address=127.0.0.1:${api}`]))
    expect(await program.exit).toBe(5)
    expect(program.stderr).toContain(`127.0.0.1:${api + 1} is taken`)
  })

  it('-dev-tls without a directory uses a temporary one and removes it with the server', async () => {
    const { api } = await freePorts()
    const program = disposeAfterTest(new Program(['server', '-dev-tls', `-dev-listen-address=127.0.0.1:${api}`]))
    await program.untilPrinted(STARTED)
    const ca = /VAULT_CACERT='([^']+)'/.exec(program.stdout)?.[1] ?? ''
    expect(existsSync(ca)).toBe(true)
    program.signal('SIGTERM')
    expect(await program.exit).toBe(0)
    expect(existsSync(path.dirname(ca))).toBe(false)
  })
})

describe('a TLS listener', () => {
  it('a TLS listener resolves certificate and key files from the working directory', async () => {
    const { start, made, address } = await site()
    await start()
    expect(await new ApiClient({ address, caPem: made.ca }).read('sys/init')).toEqual({ initialized: false })
  })

  it('a TLS listener without a client CA accepts any client certificate', async () => {
    const { start, made, api } = await site()
    await start()
    const other = await makeCertificates('client')
    const socket = await handshake(api, { ca: made.ca, cert: other.certificate, key: other.privateKey })
    expect(await ask(socket)).toBe('HTTP/1.1 200 OK')
    socket.destroy()
  })

  it('a TLS listener with a client CA rejects unknown certificates, and accepts clients without one', async () => {
    const { start, made, api, at } = await site('tls_client_ca_file = "clients.pem"')
    const clients = await makeCertificates('client')
    at.write('clients.pem', clients.ca)
    await start()
    const stranger = await makeCertificates('stranger')
    const options = { ca: made.ca, checkServerIdentity: () => undefined }
    const bare = await handshake(api, options)
    expect(await ask(bare)).toBe('HTTP/1.1 200 OK')
    bare.destroy()
    const foreign = await handshake(api, { ...options, cert: stranger.certificate, key: stranger.privateKey }).then(
      ask,
      () => '',
    )
    expect(foreign).toBe('')
  })

  it('a TLS listener that requires client certificates rejects clients without one', async () => {
    const more = 'tls_client_ca_file = "clients.pem"\n  tls_require_and_verify_client_cert = true'
    const { start, made, api, at } = await site(more)
    at.write('clients.pem', made.ca)
    await start()
    expect(await handshake(api, { ca: made.ca }).then(ask, () => '')).toBe('')
  })

  it('a TLS listener speaks no version below its minimum', async () => {
    const { start, made, api } = await site('tls_min_version = "tls13"')
    await start()
    await expect(handshake(api, { ca: made.ca, maxVersion: 'TLSv1.2' })).rejects.toThrow()
    const socket = await handshake(api, { ca: made.ca })
    expect(socket.getProtocol()).toBe('TLSv1.3')
    socket.destroy()
  })

  it('a TLS listener shows new certificates after SIGHUP, and keeps existing connections', async () => {
    const { start, made, api, writeFiles } = await site()
    const program = await start()
    const old = await handshake(api, { ca: made.ca })
    expect(await ask(old)).toBe('HTTP/1.1 200 OK')
    const renewed = await makeCertificates()
    writeFiles(renewed)
    program.signal('SIGHUP')
    const isRenewed = async () => {
      const socket = await handshake(api, { ca: renewed.ca })
      socket.destroy()
      return undefined
    }
    await waitFor(systemClock, 'the new certificate', isRenewed, 90_000)
    await expect(handshake(api, { ca: made.ca })).rejects.toThrow()
    expect(await ask(old)).toBe('HTTP/1.1 200 OK')
    old.destroy()
  })

  it('a TLS listener keeps its certificate if the new one is not usable', async () => {
    const { start, made, api, at } = await site()
    const program = await start()
    at.write('cert.pem', 'nonsense')
    program.signal('SIGHUP')
    await program.untilPrinted('files could not be reloaded')
    const socket = await handshake(api, { ca: made.ca })
    expect(await ask(socket)).toBe('HTTP/1.1 200 OK')
    socket.destroy()
  })

  it('the server reloads its log level at SIGHUP', async () => {
    const { start, config, api } = await site()
    const program = await start()
    writeFileSync(config, `${readFileSync(config, 'utf8')}log_level = "debug"\n`)
    program.signal('SIGHUP')
    const isTold = async () => {
      // A client that does not trust the certificate causes a debug log entry.
      await handshake(api, {}).catch(() => undefined)
      return program.stderr.includes('a TLS handshake failed') ? undefined : 'it is not told'
    }
    await waitFor(systemClock, 'lines of the new level', isTold, 90_000)
  })
})

describe('files that are wrong', () => {
  it.each([
    ['missing', 4, 'cert.pem', undefined, /cert\.pem cannot be read/],
    ['no certificate', 4, 'cert.pem', 'nonsense', /cert\.pem contains no usable certificate/],
    ['no key', 5, 'key.pem', 'nonsense', /key\.pem contains no usable private key/],
    ['another key', 5, 'key.pem', 'other', /key\.pem does not match the certificate/],
    ['no client CA', 6, 'clients.pem', 'nonsense', /clients\.pem contains no usable certificate/],
  ])('a start with a wrong TLS file fails and names file and line: %s', async (_, line, name, content, text) => {
    const { at, config } = await site(name === 'clients.pem' ? 'tls_client_ca_file = "clients.pem"' : '')
    if (content === undefined) rmSync(at.path(name))
    else at.write(name, content === 'other' ? (await makeCertificates()).privateKey : content)
    const { status, stderr } = await runProgram(['server', `-config=${config}`], { cwd: at.directory })
    expect([status, stderr]).toEqual([1, expect.stringMatching(text)])
    expect(stderr).toContain(`${config}:${line}: `)
  })

  it('a listener needs certificate and key files without tls_disable', async () => {
    const at = disposeAfterTest(new TestDirectory())
    const config = at.write('c.hcl', 'listener "tcp" {}\nstorage "inmem" {}\n')
    const { status, stderr } = await runProgram(['server', `-config=${config}`])
    expect([status, stderr]).toEqual([
      1,
      expect.stringContaining(`${config}:1: tls_cert_file and tls_key_file are required`),
    ])
  })
})
