import http from 'node:http'
import type { AddressInfo } from 'node:net'
import net from 'node:net'
import tls from 'node:tls'
import { expect, onTestFinished, test } from 'vitest'
import { linkText } from '../../../src/base/link-text.js'
import { systemNetwork } from '../../../src/base/network.js'
import { createSeededRandom } from '../../../src/base/random.js'
import { certificatePem, privateKeyPem } from '../../../src/crypto/pem.js'
import { createCa } from '../../../src/replication/credentials/ca.js'
import { fetchWrapped } from '../../../src/server/wiring/api-call.js'

/**
 * The messages that an operator reads when the API of the primary cannot be reached, over real sockets with real
 * failures.
 */
const listen = async (server: net.Server): Promise<number> => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}

const tlsServer = async (): Promise<net.Server> => {
  const ca = await createCa(createSeededRandom('link-text'), Date.now())
  const server = tls.createServer(
    {
      cert: certificatePem(Buffer.from(ca.certificate, 'base64')),
      key: privateKeyPem(Buffer.from(ca.privateKey, 'base64')),
    },
    (socket) => void socket.on('error', () => undefined).end(),
  )
  server.on('tlsClientError', () => undefined)
  return server
}

const textOf = (address: string): Promise<string> =>
  fetchWrapped(
    {
      step: 'lookup',
      address,
      token: 'a.b.c',
      caPems: [],
      clientCertPem: '',
      clientKeyPem: '',
      signal: new AbortController().signal,
    },
    systemNetwork,
  ).then(
    ({ status }) => `answered ${status}`,
    (error: Error) => error.message,
  )

const DUMP = /SSL routines|openssl|:error:|socket hang up|\d\.\d{4,}|Parse Error/i

test.each([
  ['nothing listens', 'http', async () => 1, 'connection refused: no server listens at this address (ECONNREFUSED)'],
  [
    'http:// on an https port',
    'http',
    async () => listen(await tlsServer()),
    'starts with https:// if the server uses TLS',
  ],
  ['https:// on an http port', 'https', async () => listen(http.createServer()), 'use http:// instead of https://'],
  [
    'an authority nobody knows',
    'https',
    async () => listen(await tlsServer()),
    'x509: certificate signed by unknown authority, check ca_file',
  ],
  [
    'somebody who hangs up',
    'https',
    async () => listen(net.createServer((socket) => void socket.destroy())),
    'closed before a response arrived',
  ],
  [
    'somebody who hangs up',
    'http',
    async () => listen(net.createServer((socket) => void socket.destroy())),
    'check that the server runs, and that the address starts with https://',
  ],
])('an error of a connection names the URL and what to check: %s', async (_what, scheme, start, text) => {
  const address = `${scheme}://127.0.0.1:${await start()}`
  const told = await textOf(address)
  expect(told).toContain(`PUT ${address}/v1/sys/wrapping/lookup: `)
  expect(told).toContain(text)
  expect(told).not.toMatch(DUMP)
  expect(told.split('\n')).toHaveLength(1)
})

test.each(['ftp://x', 'http://', 'https:// bad', 'http://a:99999'])('a link error names bad %s', async (address) => {
  expect(await textOf(address)).toBe(`"${address}" is not the address of an API`)
})

test('an error of a connection contains no dump of a library', () => {
  const error = Object.assign(
    new Error('C0A7:error:0A00042E:SSL routines:ssl3_read_bytes:tlsv1 alert protocol version:x:70:\n'),
    {
      code: 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION',
      reason: 'tlsv1 alert protocol version',
    },
  )
  const how = { isTls: true, authorityHint: '' }
  expect(linkText(error, how)).toBe('TLS failed: tlsv1 alert protocol version')
  expect(linkText(new Error('socket hang up'), how)).toBe('the connection was closed before a response arrived')
})
